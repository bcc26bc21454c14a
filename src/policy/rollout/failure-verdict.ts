/**
 * Decides whether failures exceed a tolerance: `maxFailures` of a stage, or of `failurePolicy` for the whole rollout (R5).
 *
 * N failures are tolerated, N + 1 are not. A number is judged with every decision. A percentage refers to the ended attempts of its
 * tally. It is judged when `minSamples` attempts have ended, and when a stage would end.
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { Exceeded, LedgerHeader, Share, StageRecord, Tally } from '../ledger/ledger.ts';

export interface Excess {
  /** Description of the exceeded tolerance, in one sentence without its full stop. */
  readonly message: string;
  readonly exceeded: Exceeded;
  /** The stage whose tolerance was exceeded; undefined for the tolerance of the rollout. */
  readonly stage: string | undefined;
}

type FailureSpec = Pick<CollectorVersionPolicySpec, 'failurePolicy'>;

/** Whether a tolerance is set for this stage or for the rollout. Without one, a failed member holds its stage. */
export function hasTolerance(
  stage: Pick<StageRecord, 'maxFailures'> | undefined,
  { failurePolicy }: FailureSpec,
): boolean {
  return stage?.maxFailures !== undefined || failurePolicy?.maxFailures !== undefined;
}

/**
 * The exceeded tolerance, of a stage before that of the rollout; undefined when none is exceeded. After its completion, a rollout is
 * judged by `failurePolicy` alone.
 * @param isStageEnd whether no member of the stage under way, or of a rollout without stages, is left to upgrade
 */
export function findExcess(
  { failurePolicy }: FailureSpec,
  header: LedgerHeader,
  isStageEnd: boolean,
): Excess | undefined {
  const { stages = [], tally, completedAtMs } = header;
  const minSamples = failurePolicy?.minSamples ?? 1;
  const isComplete = completedAtMs !== undefined;
  for (const { name, maxFailures, tally: own, endedAtMs } of isComplete ? [] : stages) {
    const isEnd = endedAtMs !== undefined || isStageEnd;
    const exceeded = exceededBy(own, maxFailures, isEnd || own.finished >= minSamples);
    if (exceeded) return excess({ ...exceeded, stage: name });
  }
  const exceeded = exceededBy(tally, failurePolicy?.maxFailures, isStageEnd || tally.finished >= minSamples);
  return exceeded && excess(exceeded);
}

/**
 * Whether an excess stops the rollout. After its completion a percentage does so only after `minSamples` attempts, because more late
 * joiners may come.
 */
export function isStopDue(
  { exceeded }: Excess,
  { failurePolicy }: FailureSpec,
  { completedAtMs }: LedgerHeader,
): boolean {
  if (completedAtMs === undefined || typeof exceeded.tolerated === 'number') return true;
  return exceeded.finished >= (failurePolicy?.minSamples ?? 1);
}

function exceededBy({ finished, failed }: Tally, most: Share | undefined, isJudged: boolean): Exceeded | undefined {
  if (most === undefined || failed === 0) return undefined;
  const exceeded = { failed, finished, tolerated: most };
  if (typeof most === 'number') return failed > most ? exceeded : undefined;
  return isJudged && failed * 100 > Number.parseFloat(most) * finished ? exceeded : undefined;
}

function excess(exceeded: Exceeded): Excess {
  const { failed, finished, tolerated, stage } = exceeded;
  const scope = stage === undefined ? 'the rollout' : `stage ${stage}`;
  const verb = tolerated === 1 ? 'is' : 'are';
  const message = `${failed} of ${finished} attempts of ${scope} failed, and ${tolerated} ${verb} tolerated`;
  return { message, exceeded, stage };
}
