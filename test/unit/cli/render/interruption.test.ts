import { expect, it } from 'vitest';
import { renderInterruption } from '../../../../src/cli/render/interruption.ts';
import { sampleExport } from '../sample-export.ts';
import { rollingStatus, samplePolicy } from '../sample-policy.ts';

const withInProgress = (inProgress: number) => ({
  ...rollingStatus,
  collectors: { ...rollingStatus.collectors!, inProgress },
});

it.each([
  [[], 'interrupted; no upgrade is under way, and the next start goes on from here'],
  [[undefined, 0], 'interrupted; no upgrade is under way, and the next start goes on from here'],
  [[1, 0], 'interrupted; 1 upgrade goes on at the service, and the next start follows it'],
  [[4, undefined, 8], 'interrupted; 12 upgrades go on at the service, and the next start follows them'],
])('policies with %j in progress: %s', (counts, expected) => {
  const policies = counts.map((count) =>
    samplePolicy({ status: count === undefined ? undefined : withInProgress(count) }),
  );
  expect(renderInterruption(policies)).toBe(expected);
  if (counts.length > 1) expect(renderInterruption([...policies, sampleExport()])).toBe(expected);
});

it('exports: what is committed stays', () => {
  expect(renderInterruption([sampleExport()])).toBe(
    'interrupted; what is committed stays, and the next start goes on from here',
  );
});

it('names the flags without which the next start is another export', () => {
  expect(renderInterruption([sampleExport()], '--from A --to B')).toContain(
    'the next start with --from A --to B goes on',
  );
});
