/**
 * Evaluates the state of a rollout: actions of people, stops, and the progress of stages. Results are written to the ledger's
 * header, because they cannot be observed again.
 *
 * The order: people, then the failure policy, which is judged before anything more starts, then stages.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import type { DecideInput } from './decide-input.ts';
import type { Draft } from './draft.ts';
import { type Excess, type FailureScope, failureExcess, hasTolerance, latecomersExcess } from './failure-verdict.ts';
import type { Exceeded, LedgerHeader, RolloutStop, Tally } from './ledger.ts';
import type { Heeded } from './people.ts';
import { planWayBack, type WayBack } from './rollback.ts';
import type { Roster } from './roster.ts';
import { currentStage, heldUpBy, progressStages, type StageProgress } from './stage-progress.ts';
import { isEligible } from './standing.ts';
import type { Counts } from './standing-counts.ts';

export interface Course {
  readonly header: LedgerHeader;
  readonly stages: StageProgress;
  /**
   * Whether the rollout was complete and no changed selection has added members since. A collector that is started now is a late
   * joiner.
   */
  readonly isComplete: boolean;
  /** The exceeded tolerance while the rollout continues; undefined when none is exceeded. */
  readonly excess: Excess | undefined;
  /**
   * Present tally of the scope that stopped the rollout. Absent while the rollout is not stopped, or when the ledger has none of
   * these attempts.
   */
  readonly stopTally?: Pick<Tally, 'finished' | 'failed'>;
  /** Number of failed collectors that are covered neither by the tolerance of their stage nor by that of the rollout. */
  readonly untolerated: number;
  /** Present while the rollout is rolled back, and afterwards. */
  readonly wayBack: WayBack | undefined;
}

/** @param heeded header with the applied annotations, and whether a person retried */
export function steer(input: DecideInput, draft: Draft, { header: heeded, retried }: Heeded): Course {
  const { policy, roster, now, settings, calendar } = input;
  const before = stagesOf(input, draft, heeded, retried);
  const isComplete = isOver(input, heeded);
  const judged = heeded.stop ? undefined : judge(policy, draft, heeded, before, isComplete);
  const stop = heeded.stop ?? (judged && stopFor(policy, heeded, judged, now.wallMs));
  const excess = judged ?? toldExcess(policy, draft);
  const stages = stop ? stoppedIn(policy, before, heeded) : before;
  const header = withCourse(heeded, stages, stop);
  const isZoneless = (row: Row | undefined) =>
    calendar.byCollector && calendar.verdict(now.wallMs, row?.collector.timeZone).kind === 'zoneUnreadable';
  const wayBack =
    stop?.kind === 'rollback' ? planWayBack(roster, draft, header.target, settings.graceMs, isZoneless) : undefined;
  const untolerated = untoleratedIn(policy, draft);
  const stopTally = stop?.exceeded && tallyNow(policy, draft, header, stop.exceeded);
  const found = { header, stages, isComplete, excess: stop ? undefined : excess, untolerated, wayBack };
  return stopTally ? { ...found, stopTally } : found;
}

/** Tally of the scope of a stop, whose attempts may end after the stop; undefined when the ledger has none of them (H3). */
function tallyNow(
  { spec }: CollectorVersionPolicy,
  draft: Draft,
  { completions = 0 }: LedgerHeader,
  { stage, late }: Exceeded,
): Tally | undefined {
  const index = spec.strategy.stages?.findIndex(({ name }) => name === stage) ?? -1;
  const inOrder = () => (index === -1 ? draft.tally(stage) : draft.stageTally(index));
  const tally = late ? draft.lateTally(completions, stage) : inOrder();
  return tally.finished === 0 ? undefined : tally;
}

/**
 * State of a stopped rollout. Stages that this decision would have begun or ended are not recorded, and no stage waits any more.
 */
function stoppedIn(
  { spec }: CollectorVersionPolicy,
  { reached }: StageProgress,
  { stages: records = [] }: LedgerHeader,
): StageProgress {
  const current = currentStage(spec.strategy.stages ?? [], records);
  return { records, reached, current, gate: undefined, sweepFromMs: undefined };
}

/** Whether the rollout is complete and no changed selection has added members since. */
function isOver({ roster }: DecideInput, header: LedgerHeader): boolean {
  return header.completedAtMs !== undefined && !isWidened(roster, header);
}

function isWidened(roster: Roster, { selection }: LedgerHeader): boolean {
  return roster.isReselected && selection !== roster.selection;
}

function stagesOf(
  { policy, roster, observation, now }: DecideInput,
  draft: Draft,
  header: LedgerHeader,
  isRetried: boolean,
): StageProgress {
  const sweptMs = observation.listing.completeSinceMs();
  const progress = progressStages({
    spec: policy.spec,
    header,
    countOf: (stage) => ({
      counts: draft.stageCounts(stage),
      tally: draft.stageTally(stage),
      vanished: roster.vanished(stage),
      vacated: vacatedIn(policy, draft, stage),
    }),
    latecomersOf: (stage) => draft.latecomers(stage),
    sweptSinceMs: sweptMs === undefined ? undefined : now.wallMs - (now.monotonicMs - sweptMs),
    wallMs: now.wallMs,
    isReselected: isWidened(roster, header),
    isRetried,
  });
  return policy.spec.mode === 'Observe' ? observed(policy, progress, header) : progress;
}

/** Number of places of a stage that other collectors take after this decision; 0 for a stage without `size`. */
function vacatedIn({ spec }: Pick<CollectorVersionPolicy, 'spec'>, draft: Draft, stage: number): number {
  if (spec.strategy.stages?.[stage]?.size === undefined) return 0;
  return draft.vacated(stage, (standing) => isEligible(standing, spec));
}

/**
 * State in mode Observe: no stage begins, but a soak that has begun continues. The rollout is not complete before the soak ends.
 */
function observed(
  { spec }: CollectorVersionPolicy,
  progress: StageProgress,
  { stages: records = [] }: LedgerHeader,
): StageProgress {
  const { current } = progress;
  const stage = spec.strategy.stages?.[current ?? -1]?.name;
  const hasBegun = current === undefined ? records.length > 0 : records.some(({ name }) => name === stage);
  if (hasBegun) return { ...progress, reached: -1 };
  return { records, reached: -1, current: undefined, gate: undefined, sweepFromMs: undefined };
}

/** Late joiners after the completion do not change the verdict on the rollout, and are judged separately (R5). */
function judge(
  policy: CollectorVersionPolicy,
  draft: Draft,
  header: LedgerHeader,
  progress: StageProgress,
  isComplete: boolean,
): Excess | undefined {
  const { completions = 0 } = header;
  const excess = isComplete ? undefined : excessOf(policy, draft, header, progress);
  return excess ?? latecomersExcess(policy.spec, (stage) => draft.lateTally(completions, stage), isComplete);
}

function excessOf(
  { spec }: CollectorVersionPolicy,
  draft: Draft,
  header: LedgerHeader,
  progress: StageProgress,
): Excess | undefined {
  const scope = (counts: Counts, tally: Tally): FailureScope => ({ tally, outstanding: heldUpBy(counts, spec) });
  const whole = scope(draft.counts(), draft.tally());
  // Judges the stages that were under way when this decision began. A stage that would end now is judged first.
  for (const [index, stage] of (spec.strategy.stages ?? []).entries()) {
    const ended = header.stages?.some(({ name, endedAtMs }) => name === stage.name && endedAtMs !== undefined);
    if (ended) continue;
    const own = scope(draft.stageCounts(index), draft.stageTally(index));
    // A stage whose places are taken by other collectors has not reached its end.
    const left = own.outstanding + vacatedIn({ spec }, draft, index);
    // After a change of the stages, a later stage may already have failures. It has not reached its end.
    const isLater = index > (progress.current ?? Number.POSITIVE_INFINITY);
    const judged = { ...own, outstanding: isLater ? Math.max(1, left) : left };
    const excess = failureExcess(spec, whole, { spec: stage, scope: judged });
    if (excess) return excess;
  }
  return failureExcess(spec, whole, undefined);
}

/** The exceeded tolerance of any stage, also an ended one, or of the rollout. */
function toldExcess({ spec }: CollectorVersionPolicy, draft: Draft): Excess | undefined {
  const whole = { tally: draft.tally(), outstanding: heldUpBy(draft.counts(), spec) };
  for (const [index, stage] of (spec.strategy.stages ?? []).entries()) {
    const scope = { tally: draft.stageTally(index), outstanding: heldUpBy(draft.stageCounts(index), spec) };
    const excess = failureExcess(spec, whole, { spec: stage, scope });
    if (excess) return excess;
  }
  return failureExcess(spec, whole, undefined);
}

function untoleratedIn({ spec }: CollectorVersionPolicy, draft: Draft): number {
  if (hasTolerance(undefined, spec)) return 0;
  let untolerated = Math.max(draft.tally().broken, draft.counts().failed);
  for (const [index, stage] of (spec.strategy.stages ?? []).entries())
    if (hasTolerance(stage, spec)) untolerated -= draft.stageTally(index).broken;
  return untolerated;
}

/** A rollout that was once complete is stopped but never rolled back, because its collectors are in use. */
function stopFor(
  { spec }: CollectorVersionPolicy,
  { history, rolloutId }: LedgerHeader,
  { message, exceeded, stage }: Excess,
  atMs: number,
): RolloutStop | undefined {
  const action = spec.failurePolicy?.action ?? 'Pause';
  const of = { message, exceeded, atMs, ...(stage === undefined ? {} : { stage }) };
  switch (action) {
    case 'Pause':
      return { kind: 'failures', ...of };
    case 'Rollback':
      return { kind: history.some(({ id }) => id === rolloutId) ? 'failures' : 'rollback', ...of };
    case 'Continue':
      return undefined;
  }
}

function withCourse(header: LedgerHeader, { records }: StageProgress, stop: RolloutStop | undefined): LedgerHeader {
  const stages = records.length === 0 ? header.stages : records;
  if (stages === header.stages && stop === header.stop) return header;
  return { ...header, ...(stages && { stages }), ...(stop && { stop }) };
}
