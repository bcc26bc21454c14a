/**
 * Whether more has failed than the failure policy tolerates (R5).
 *
 * N failures are tolerated and one more is not. A number is judged with each failure. A percentage is of the attempts of its scope that
 * have ended: judged once `minSamples` of them have, or all that there can be, and at the end of a stage.
 *
 * Who comes late is judged by itself: those who came late to a stage by the tolerance of that, and those who came since the rollout was
 * complete by that of the whole as well.
 */
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import type { Tally } from './ledger.ts';

export interface FailureScope {
  readonly tally: Pick<Tally, 'finished' | 'failed'>;
  /** How many collectors of it may still be upgraded, or are being. */
  readonly outstanding: number;
}

/** Failures beyond a tolerance, and which attempts they are counted of: of a stage, of the whole, or of late joiners of either. */
export interface Exceeded {
  readonly failed: number;
  readonly finished: number;
  readonly tolerated: Share;
  readonly stage?: string;
  readonly late?: true;
}

export interface Excess {
  /** What is beyond the tolerance, in one sentence. */
  readonly message: string;
  /** The figures of the message. */
  readonly exceeded: Exceeded;
  /** The stage whose tolerance it was; undefined for the whole. */
  readonly stage: string | undefined;
}

export type Share = number | string;

/** Whether anybody has said how many failures of this stage, or of the whole, are too many: without it, none is tolerated. */
export function hasTolerance(
  stage: Pick<Stage, 'maxFailures'> | undefined,
  { failurePolicy }: Pick<CollectorVersionPolicySpec, 'failurePolicy'>,
): boolean {
  return stage?.maxFailures !== undefined || failurePolicy?.maxFailures !== undefined;
}

/**
 * What is beyond the tolerance, of the stage first; undefined where nothing is.
 * @param stage the one under way, with its scope; undefined where the policy has none, or all have ended
 */
export function failureExcess(
  { failurePolicy }: Pick<CollectorVersionPolicySpec, 'failurePolicy'>,
  whole: FailureScope,
  stage: { readonly spec: Stage; readonly scope: FailureScope } | undefined,
): Excess | undefined {
  const minSamples = failurePolicy?.minSamples ?? 1;
  if (stage) {
    const { name, maxFailures } = stage.spec;
    const exceeded = excessOf(maxFailures, stage.scope, minSamples, { stage: name });
    if (exceeded) return { message: exceededText(exceeded), exceeded, stage: name };
  }
  // At the end of a stage there is nothing outstanding in it, and the whole is judged as well.
  const atStageEnd = stage !== undefined && stage.scope.outstanding === 0;
  const scope = atStageEnd ? { ...whole, outstanding: 0 } : whole;
  const exceeded = excessOf(failurePolicy?.maxFailures, scope, minSamples, {});
  return exceeded && { message: exceededText(exceeded), exceeded, stage: undefined };
}

/**
 * What is beyond the tolerance among those that came late, of a stage first; undefined where nothing is. More may come at any time, so
 * that a percentage waits for `minSamples`.
 * @param tallyOf those that came late to a stage, by its name, or all
 */
export function latecomersExcess(
  { failurePolicy, strategy }: Pick<CollectorVersionPolicySpec, 'failurePolicy' | 'strategy'>,
  tallyOf: (stage?: string) => Tally,
  isComplete: boolean,
): Excess | undefined {
  const minSamples = failurePolicy?.minSamples ?? 1;
  const judge = (most: Share | undefined, tally: Tally, stage?: string): Excess | undefined => {
    const of = { ...(stage === undefined ? {} : { stage }), late: true } as const;
    const exceeded = excessOf(most, { tally, outstanding: Number.POSITIVE_INFINITY }, minSamples, of);
    return exceeded && { message: exceededText(exceeded), exceeded, stage: undefined };
  };
  for (const { name, maxFailures } of strategy.stages ?? []) {
    const excess = judge(maxFailures, tallyOf(name), name);
    if (excess) return excess;
  }
  if (!isComplete) return undefined;
  return judge(failurePolicy?.maxFailures, tallyOf());
}

function excessOf(
  most: Share | undefined,
  { tally: { finished, failed }, outstanding }: FailureScope,
  minSamples: number,
  of: Pick<Exceeded, 'stage' | 'late'>,
): Exceeded | undefined {
  if (most === undefined || failed === 0) return undefined;
  const exceeded = { failed, finished, tolerated: most, ...of };
  if (typeof most === 'number') return failed <= most ? undefined : exceeded;
  const isJudged = finished >= minSamples || outstanding === 0;
  return isJudged && failed * 100 > Number.parseFloat(most) * finished ? exceeded : undefined;
}

/** What is beyond the tolerance, in one sentence without its full stop. */
function exceededText({ failed, finished, tolerated, stage, late }: Exceeded): string {
  const joiners = stage === undefined ? 'after the rollout was complete' : `late to stage ${stage}`;
  const scope = late ? `those that came ${joiners}` : stage === undefined ? 'the rollout' : `stage ${stage}`;
  return `${failed} of ${finished} attempts of ${scope} failed, and ${tolerated} ${tolerated === 1 ? 'is' : 'are'} tolerated`;
}
