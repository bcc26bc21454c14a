/** Tests how many bytes the service scans for an export, compared with a single search of the whole range. */
import { expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { ExportWorld, evenly } from './export-world.ts';

/** Exports 6,000 rows, and returns the number of bytes that the service scanned for the export. */
async function scanned(search: NonNullable<Scenario['search']>, spec: object = {}): Promise<number> {
  const world = new ExportWorld({ messages: evenly(6_000), scenario: { search } });
  world.add(spec);
  world.start();
  expect(await world.untilReason('Exported')).toBe(true);
  return world.status?.progress?.bytesScanned ?? 0;
}

test.each([
  ['small', { duration: '4s' }, 'Digest', 2],
  ['small', { duration: '4s' }, 'Count', 1],
  ['large', { duration: '4s', messageLimit: 500 }, 'Digest', 3],
  ['large', { duration: '4s', messageLimit: 500 }, 'Count', 2],
] as const)(
  'a %s export with %j and proof %s scans its range at most %d times',
  async (_size, search, proof, times) => {
    const once = await scanned({ duration: '4s' }, { proof: 'Count' });
    expect(once).toBeGreaterThan(0);
    const ratio = (await scanned(search, { proof })) / once;
    // The first search of a large export also returns a few rows after the end of its segment. Another search scans
    // these rows again.
    const margin = 'messageLimit' in search ? 0.01 : 0;
    expect(ratio).toBeLessThanOrEqual(times + margin);
  },
);
