/**
 * Where a rollout stands in its own course, whatever its collectors do next: what people asked of it, whether it is stopped, and how far
 * its stages are. What comes of it stands in the ledger's header, since nobody could find it out again.
 *
 * In this order: people; the failure policy, judged before anything more is started; stages.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import {
  type Exceeded,
  type Excess,
  type FailureScope,
  failureExcess,
  hasTolerance,
  latecomersExcess,
} from './failure-verdict.ts';
import type { LedgerHeader, RolloutStop, Tally } from './ledger.ts';
import type { Heeded } from './people.ts';
import { planWayBack, type WayBack } from './rollback.ts';
import type { Roster } from './roster.ts';
import { currentStage, heldUpBy, progressStages, type StageProgress } from './stage-progress.ts';
import { isEligible } from './standing.ts';
import type { Counts } from './standing-counts.ts';

export interface Course {
  readonly header: LedgerHeader;
  readonly stages: StageProgress;
  /** Whether all was at the target once, and no other selection has brought in more since: who is started now comes late. */
  readonly isComplete: boolean;
  /** What is beyond the tolerance although the rollout goes on; undefined where nothing is. */
  readonly excess: Excess | undefined;
  /** The attempts as they are now of what stopped the rollout. Absent while it is not stopped, and where the ledger knows none of them. */
  readonly stopTally?: Pick<Tally, 'finished' | 'failed'>;
  /** Collectors whose failure no tolerance covers: neither that of the stage that they were started in nor that of the whole. */
  readonly untolerated: number;
  /** While the rollout is rolled back, or has been. */
  readonly wayBack: WayBack | undefined;
}

/** @param heeded the header with what people have asked, and whether that was to go on */
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

/** The attempts of the scope of a stop, which go on to end after it; undefined where the ledger knows none (H3). */
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

/** Nothing that this decision would have begun or ended counts: it was stopped before. Nor does a stage wait for anything any more. */
function stoppedIn(
  { spec }: CollectorVersionPolicy,
  { reached }: StageProgress,
  { stages: records = [] }: LedgerHeader,
): StageProgress {
  const current = currentStage(spec.strategy.stages ?? [], records);
  return { records, reached, current, gate: undefined, sweepFromMs: undefined };
}

/** Whether it is complete, and no other selection has brought in more since. */
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

/** How many places of a stage others take after this decision. One without a size has no places. */
function vacatedIn({ spec }: Pick<CollectorVersionPolicy, 'spec'>, draft: Draft, stage: number): number {
  if (spec.strategy.stages?.[stage]?.size === undefined) return 0;
  return draft.vacated(stage, (standing) => isEligible(standing, spec));
}

/** Nothing is started, so nothing begins. A stage that has begun soaks on: its rollout is not complete before. */
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

/** Who comes after the end says nothing about what was complete, and is judged alone (R5). */
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
  // The stages that were under way when this decision began: one that would end now is judged first.
  for (const [index, stage] of (spec.strategy.stages ?? []).entries()) {
    const ended = header.stages?.some(({ name, endedAtMs }) => name === stage.name && endedAtMs !== undefined);
    if (ended) continue;
    const own = scope(draft.stageCounts(index), draft.stageTally(index));
    // One whose places are taken by others is not at its end.
    const left = own.outstanding + vacatedIn({ spec }, draft, index);
    // One whose turn comes only now, since stages were changed, may have failures already, and is not at its end.
    const isLater = index > (progress.current ?? Number.POSITIVE_INFINITY);
    const judged = { ...own, outstanding: isLater ? Math.max(1, left) : left };
    const excess = failureExcess(spec, whole, { spec: stage, scope: judged });
    if (excess) return excess;
  }
  return failureExcess(spec, whole, undefined);
}

/** What is beyond the tolerance of any stage, also of one that has ended, or of the whole. */
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

/** What was complete once is not taken back: those are in use. */
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
