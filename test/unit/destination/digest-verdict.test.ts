import { expect, test } from 'vitest';
import {
  type DigestVerdict,
  readVerdicts,
  storeVerdictOnce,
  verdictKind,
} from '../../../src/destination/digest-verdict.ts';
import { ExportLayout } from '../../../src/destination/export-layout.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';

const layout = new ExportLayout('audit');
const verdict = (round: number): DigestVerdict => ({ round, proven: [], differing: [], segments: [], incomplete: [] });

test('only verdicts that are not known yet are read', async () => {
  const destination = new MemoryDestination();
  for (const round of [1, 2, 3]) await storeVerdictOnce(destination, layout, verdict(round));
  expect(await readVerdicts(destination, layout, 1)).toEqual([verdict(2), verdict(3)]);
});

test('a verdict under the name of another round is damaged', async () => {
  const destination = new MemoryDestination();
  await destination.create(layout.verdict(1), verdictKind.encode(verdict(2)));
  await expect(readVerdicts(destination, layout)).rejects.toMatchObject({ code: 'destination.damaged' });
});
