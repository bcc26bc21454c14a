import { expect, it } from 'vitest';
import { renderInterruption } from '../../../../src/cli/run/run-report.ts';
import { sampleExport } from '../sample-export.ts';
import { rollingStatus, samplePolicy } from '../sample-policy.ts';

const withInProgress = (inProgress: number) => ({
  ...rollingStatus,
  collectors: { ...rollingStatus.collectors!, inProgress },
});

it.each([
  [[], 'interrupted; no upgrade is in flight, and the next start continues from here'],
  [[undefined, 0], 'interrupted; no upgrade is in flight, and the next start continues from here'],
  [
    [1, 0],
    'interrupted; 1 upgrade continues at the log service, and the next logfleet run reads the result of each upgrade',
  ],
  [
    [4, undefined, 8],
    'interrupted; 12 upgrades continue at the log service, and the next logfleet run reads the result of each upgrade',
  ],
])('policies with %j in progress: %s', (counts, expected) => {
  const policies = counts.map((count) =>
    samplePolicy({ status: count === undefined ? undefined : withInProgress(count) }),
  );
  expect(renderInterruption(policies)).toBe(expected);
  if (counts.length > 1) expect(renderInterruption([...policies, sampleExport()])).toBe(expected);
});

it('exports: complete intervals stay', () => {
  expect(renderInterruption([sampleExport()])).toBe(
    'interrupted; complete intervals are kept at the destination, and the next start continues from here',
  );
});

it('names the flags that repeat the range', () => {
  expect(renderInterruption([sampleExport()], '--from A --to B')).toContain(
    'the next start with --from A --to B continues',
  );
});
