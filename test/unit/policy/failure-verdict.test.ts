/** Failure tolerances: numbers at once, percentages of ended attempts, each in its scope. */
import { describe, expect, test } from 'vitest';
import type { FailurePolicy, Stage } from '../../../src/api/generated/collector-version-policy.ts';
import { failureExcess, latecomersExcess } from '../../../src/policy/failure-verdict.ts';
import { emptyTally } from '../../../src/policy/ledger.ts';

type Share = number | string | undefined;

const scope = (finished: number, failed: number, outstanding = 100) => ({
  tally: { finished, failed, died: 0 },
  outstanding,
});
const policyOf = (maxFailures: Share, minSamples = 1) => ({
  failurePolicy: { ...(maxFailures !== undefined && { maxFailures }), minSamples, action: 'Pause' } as FailurePolicy,
});
const stageOf = (maxFailures: Share): Stage => ({
  name: 'canary',
  soakDuration: '0s',
  ...(maxFailures !== undefined && { maxFailures }),
});

describe.each([
  [
    'of the rollout',
    (most: Share, minSamples: number, [finished, failed, outstanding]: readonly [number, number, number]) =>
      failureExcess(policyOf(most, minSamples), scope(finished, failed, outstanding), undefined),
  ],
  [
    'of stage canary',
    (most: Share, minSamples: number, [finished, failed, outstanding]: readonly [number, number, number]) =>
      failureExcess(policyOf(undefined, minSamples), scope(500, 50), {
        spec: stageOf(most),
        scope: scope(finished, failed, outstanding),
      }),
  ],
])('%s', (of, judged) => {
  test.each<[string, Share, number, readonly [finished: number, failed: number, outstanding: number], boolean]>([
    ['no limit', undefined, 1, [9, 9, 0], false],
    ['0, none failed', 0, 1, [9, 0, 5], false],
    ['0, one failed', 0, 1, [1, 1, 5], true],
    ['0, one failed, whatever minSamples', 0, 50, [1, 1, 500], true],
    ['N tolerated', 3, 1, [9, 3, 5], false],
    ['N + 1 stops', 3, 1, [9, 4, 5], true],
    ['N at the end', 3, 1, [9, 3, 0], false],
    ['0%, none failed', '0%', 1, [9, 0, 0], false],
    ['0%, one failed', '0%', 1, [9, 1, 5], true],
    ['0%, one failed of too few', '0%', 10, [9, 1, 5], false],
    ['exactly the share', '10%', 1, [10, 1, 5], false],
    ['beyond the share', '10%', 1, [9, 1, 5], true],
    ['beyond the share, one sample short', '10%', 10, [9, 9, 5], false],
    ['beyond the share, with the last sample', '10%', 10, [10, 2, 5], true],
    ['beyond the share, and no more to come', '10%', 50, [4, 1, 0], true],
    ['beyond the share, and one more to come', '10%', 50, [4, 1, 1], false],
    ['within the share, and no more to come', '50%', 50, [4, 2, 0], false],
    ['100% is never exceeded', '100%', 1, [9, 9, 0], false],
  ])('%s', (_, most, minSamples, figures, isExceeded) => {
    const found = judged(most, minSamples, figures);
    expect(found !== undefined).toBe(isExceeded);
    if (!found) return;
    const [finished, failed] = figures;
    const tolerated = most === 1 ? '1 is' : `${most} are`;
    expect(found).toMatchObject({
      message: `${failed} of ${finished} attempts ${of} failed, and ${tolerated} tolerated`,
      stage: of === 'of the rollout' ? undefined : 'canary',
    });
  });
});

describe('of both', () => {
  const stage = { spec: stageOf('10%'), scope: scope(10, 5) };

  test('the stage is reported first', () => {
    expect(failureExcess(policyOf(0), scope(10, 5), stage)?.stage).toBe('canary');
  });

  test('the rollout stops it although the stage would not', () => {
    expect(failureExcess(policyOf(4), scope(10, 5), { ...stage, spec: stageOf(9) })?.stage).toBeUndefined();
    expect(failureExcess(policyOf(4), scope(10, 5), { ...stage, spec: stageOf(9) })).toBeDefined();
  });

  test('a percentage of the rollout is judged at the end of each stage, however few have ended', () => {
    const end = { spec: stageOf(undefined), scope: scope(4, 1, 0) };
    expect(failureExcess(policyOf('10%', 50), scope(4, 1, 100), end)).toBeDefined();
    expect(failureExcess(policyOf('10%', 50), scope(4, 1, 100), { ...end, scope: scope(4, 1, 1) })).toBeUndefined();
    expect(failureExcess(policyOf('25%', 50), scope(4, 1, 100), end)).toBeUndefined();
  });
});

describe('of those that came late', () => {
  const tally = (finished: number, failed: number) => ({ ...emptyTally, finished, failed });
  const judged = (most: Share, ofStage: Share, minSamples: number, isComplete: boolean) =>
    latecomersExcess(
      {
        ...policyOf(most, minSamples),
        strategy: { maxInProgress: 1, order: 'Name', stages: [stageOf(ofStage)] },
      },
      (stage) => (stage === undefined ? tally(9, 3) : tally(4, 2)),
      isComplete,
    )?.message;

  test.each<[string, Share, Share, number, boolean, string | undefined]>([
    ['nobody has said anything', undefined, undefined, 1, true, undefined],
    ['within both', 3, 2, 1, true, undefined],
    ['beyond the whole', 2, 2, 1, true, 'after the rollout was complete failed, and 2 are'],
    ['beyond the whole, which has not been complete', 2, 2, 1, false, undefined],
    ['beyond that of the stage', 3, 1, 1, true, 'came late to stage canary failed, and 1 is'],
    ['beyond that of the stage, before all is complete', 3, 1, 1, false, 'came late to stage canary failed, and 1 is'],
    ['beyond the share', '30%', undefined, 9, true, '3 of 9 attempts'],
    ['beyond the share, one sample short', '30%', undefined, 10, true, undefined],
    ['the share', '34%', undefined, 1, true, undefined],
  ])('%s', (_, most, ofStage, minSamples, isComplete, said) => {
    const message = judged(most, ofStage, minSamples, isComplete);
    if (said === undefined) expect(message).toBeUndefined();
    else expect(message).toContain(said);
  });
});

test('one tolerated is reported in the singular', () => {
  expect(failureExcess(policyOf(1), scope(3, 2), undefined)?.message).toBe(
    '2 of 3 attempts of the rollout failed, and 1 is tolerated',
  );
});
