/**
 * Decides whether failures exceed the tolerance of the failure policy (R5).
 *
 * N failures are tolerated, N + 1 are not. A number is checked after each failure. A percentage refers to the ended attempts of its
 * scope. It is checked at the end of a stage, when `minSamples` attempts have ended, or when no more can end.
 *
 * Late joiners have a tally of their own. Late joiners of a stage are checked against the tolerance of the stage. Late joiners
 * since the rollout was complete are also checked against the tolerance of the rollout.
 */
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import type { Exceeded, Share, Tally } from './ledger.ts';

export interface FailureScope {
  readonly tally: Pick<Tally, 'finished' | 'failed'>;
  /** Number of collectors of the scope that wait for an upgrade or are being upgraded. */
  readonly outstanding: number;
}

export interface Excess {
  /** Description of the exceeded tolerance, in one sentence. */
  readonly message: string;
  /** Figures of the message. */
  readonly exceeded: Exceeded;
  /** The stage whose tolerance was exceeded; undefined for the tolerance of the rollout. */
  readonly stage: string | undefined;
}

/** Whether the spec sets a tolerance for this stage or the rollout. Without one, no failure is tolerated. */
export function hasTolerance(
  stage: Pick<Stage, 'maxFailures'> | undefined,
  { failurePolicy }: Pick<CollectorVersionPolicySpec, 'failurePolicy'>,
): boolean {
  return stage?.maxFailures !== undefined || failurePolicy?.maxFailures !== undefined;
}

/**
 * The exceeded tolerance, of the stage before that of the rollout; undefined when none is exceeded.
 * @param stage the stage under way with its scope; undefined when the policy has no stages or all have ended
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
  // A stage that ends has no outstanding attempts. Its end also checks the tolerance of the rollout.
  const atStageEnd = stage !== undefined && stage.scope.outstanding === 0;
  const scope = atStageEnd ? { ...whole, outstanding: 0 } : whole;
  const exceeded = excessOf(failurePolicy?.maxFailures, scope, minSamples, {});
  return exceeded && { message: exceededText(exceeded), exceeded, stage: undefined };
}

/**
 * The exceeded tolerance among late joiners, of a stage before that of the rollout; undefined when none is exceeded. More late
 * joiners may always come, so a percentage needs `minSamples` ended attempts.
 * @param tallyOf tally of the late joiners of a stage by its name, or of all late joiners
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

/** Description of the exceeded tolerance, in one sentence without its full stop. */
function exceededText({ failed, finished, tolerated, stage, late }: Exceeded): string {
  const joiners = stage === undefined ? 'after the rollout was complete' : `late to stage ${stage}`;
  const scope = late ? `those that came ${joiners}` : stage === undefined ? 'the rollout' : `stage ${stage}`;
  return `${failed} of ${finished} attempts of ${scope} failed, and ${tolerated} ${tolerated === 1 ? 'is' : 'are'} tolerated`;
}
