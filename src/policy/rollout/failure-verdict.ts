/**
 * Decides whether the number of failed upgrades in a rollout exceeds `maxFailures` (R5).
 *
 * With `maxFailures: N`, N failures are tolerated. A percentage is relative to the number of upgrades that have ended.
 * Percentages are checked as soon as `minSamples` upgrades have ended, and at the end of a stage.
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { counted } from '../../base/number-text.ts';
import { quietText } from '../analysis/message-analysis.ts';
import type { Exceeded, LedgerHeader, Share, StageRecord, Tally } from '../ledger/ledger.ts';

export interface Excess {
  /** Sentence that says which `maxFailures` is exceeded, without a full stop at the end. */
  readonly message: string;
  readonly exceeded: Exceeded;
}

type FailureSpec = Pick<CollectorVersionPolicySpec, 'failurePolicy'>;

/**
 * Reports whether the spec sets `maxFailures` for this stage or for the rollout. Without `maxFailures`, a stage with a
 * failed collector cannot end.
 */
export function hasTolerance(
  stage: Pick<StageRecord, 'maxFailures'> | undefined,
  { failurePolicy }: FailureSpec,
): boolean {
  return stage?.maxFailures !== undefined || failurePolicy?.maxFailures !== undefined;
}

/**
 * Returns the exceeded `maxFailures` of a stage or, if no stage exceeds its limit, of the rollout. Returns undefined if
 * none is exceeded.
 * @param isStageEnd true if no collector is left to upgrade in the active stage or, without stages, in the rollout
 */
export function findExcess(
  { failurePolicy }: FailureSpec,
  header: LedgerHeader,
  isStageEnd: boolean,
): Excess | undefined {
  const { stages = [], tally, completedAtMs } = header;
  const minSamples = failurePolicy?.minSamples ?? 1;
  const isComplete = completedAtMs !== undefined;
  for (const { name, maxFailures, tally: own, endedAtMs } of stages) {
    const hasEnded = endedAtMs !== undefined;
    if (isComplete && hasEnded) continue;
    const isEnd = hasEnded || isStageEnd;
    const exceeded = exceededBy(own, maxFailures, isEnd || own.finished >= minSamples);
    if (exceeded) return excess({ ...exceeded, stage: name }, stages);
  }
  const exceeded = exceededBy(tally, failurePolicy?.maxFailures, isStageEnd || tally.finished >= minSamples);
  return exceeded && excess(exceeded, stages);
}

/**
 * Reports whether the exceeded `maxFailures` stops the rollout. In a completed rollout, the percentage in
 * `failurePolicy` is checked only after `minSamples` upgrades have ended.
 */
export function isStopDue(
  { exceeded }: Excess,
  { failurePolicy }: FailureSpec,
  { completedAtMs }: LedgerHeader,
): boolean {
  const { stage, tolerated } = exceeded;
  if (completedAtMs === undefined || stage !== undefined || typeof tolerated === 'number') return true;
  return exceeded.finished >= (failurePolicy?.minSamples ?? 1);
}

function exceededBy({ finished, failed }: Tally, max: Share | undefined, isJudged: boolean): Exceeded | undefined {
  if (max === undefined || failed === 0) return undefined;
  const exceeded = { failed, finished, tolerated: max };
  if (typeof max === 'number') return failed > max ? exceeded : undefined;
  return isJudged && failed * 100 > Number.parseFloat(max) * finished ? exceeded : undefined;
}

function excess(exceeded: Exceeded, stages: readonly StageRecord[]): Excess {
  const { failed, finished, tolerated, stage } = exceeded;
  const [scope, limit] =
    stage === undefined ? ['the rollout', 'failurePolicy.maxFailures'] : [`stage ${stage}`, 'maxFailures'];
  const where = typeof tolerated === 'number' ? scope : `${counted(finished, 'upgrade')} of ${scope}`;
  const cause = quietAmong(failed, stage === undefined ? stages : stages.filter(({ name }) => name === stage));
  const message = `${counted(failed, 'failure')} in ${where}, ${limit} is ${tolerated}${cause}`;
  return { message, exceeded };
}

/** Returns text about the failed collectors that sent too few messages, or an empty string if there are none. */
function quietAmong(failed: number, stages: readonly StageRecord[]): string {
  // A retry resets the failures of a stage, so only stages with failures since the last retry are described.
  const stage = stages.findLast(({ analysis, tally }) => tally.failed > 0 && (analysis?.outcome?.quiet ?? 0) > 0);
  if (!stage?.analysis) return '';
  const others = failed - (stage.analysis.outcome?.quiet ?? 0);
  return `: ${quietText(stage.analysis)}${others > 0 ? ` and ${counted(others, 'other failure')}` : ''}`;
}
