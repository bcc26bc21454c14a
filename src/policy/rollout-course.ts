/**
 * Where a rollout stands in its own course, whatever its collectors do next: what people asked of it, whether it is stopped, and how far
 * its stages are. What comes of it stands in the ledger's header, since nobody could find it out again.
 *
 * In this order: people; the failure policy, judged before anything more is started; stages.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { DecideInput } from './decide.ts';
import type { Draft } from './draft.ts';
import { type Excess, type FailureScope, failureExcess, hasTolerance } from './failure-verdict.ts';
import type { LedgerHeader, RolloutStop, Tally } from './ledger.ts';
import type { Heeded } from './people.ts';
import { planWayBack, type WayBack } from './rollback.ts';
import type { Roster } from './roster.ts';
import { currentStage, heldUpBy, progressStages, type StageProgress } from './stage-progress.ts';
import type { Counts } from './standing-counts.ts';

export interface Course {
  readonly header: LedgerHeader;
  readonly stages: StageProgress;
  /** What is beyond the tolerance although the rollout goes on; undefined where nothing is. */
  readonly excess: Excess | undefined;
  /** Collectors whose failure no tolerance covers: neither that of the stage that they were started in nor that of the whole. */
  readonly untolerated: number;
  /** While the rollout is rolled back, or has been. */
  readonly wayBack: WayBack | undefined;
}

/** @param heeded the header with what people have asked, and whether that was to go on */
export function steer(input: DecideInput, draft: Draft, { header: heeded, retried }: Heeded): Course {
  const { policy, roster, now, settings } = input;
  const before = stagesOf(input, draft, heeded, retried);
  // Who comes after the end says nothing about the rollout: it is told, and stops nothing (R5).
  const judged = heeded.stop || isOver(input, heeded) ? undefined : excessOf(policy, draft, heeded, before);
  const stop = heeded.stop ?? (judged && stopFor(policy, heeded, judged, now.wallMs));
  const excess = judged ?? toldExcess(policy, draft);
  const stages = stop ? stoppedIn(policy, before, heeded) : before;
  const header = withCourse(heeded, stages, stop);
  const wayBack = stop?.kind === 'rollback' ? planWayBack(roster, draft, header.target, settings.graceMs) : undefined;
  const untolerated = untoleratedIn(policy, draft);
  return { header, stages, excess: stop ? undefined : excess, untolerated, wayBack };
}

/** Nothing that this decision would have begun or ended counts: it was stopped before. */
function stoppedIn({ spec }: CollectorVersionPolicy, progress: StageProgress, { stages: records = [] }: LedgerHeader) {
  return { ...progress, records, current: currentStage(spec.strategy.stages ?? [], records) };
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
  // Nothing is started, so nothing begins.
  if (policy.spec.mode === 'Observe') return notBegun(header);
  const sweptMs = observation.listing.completeSinceMs();
  return progressStages({
    spec: policy.spec,
    header,
    countOf: (stage) => ({
      counts: draft.stageCounts(stage),
      tally: draft.stageTally(stage),
    }),
    latecomersOf: (stage) => draft.latecomers(stage),
    sweptSinceMs: sweptMs === undefined ? undefined : now.wallMs - (now.monotonicMs - sweptMs),
    wallMs: now.wallMs,
    isReselected: isWidened(roster, header),
    isRetried,
  });
}

function notBegun({ stages: records = [] }: LedgerHeader): StageProgress {
  return { records, reached: -1, current: undefined, gate: undefined, sweepFromMs: undefined };
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
    // One whose turn comes only now, since stages were changed, may have failures already, and is not at its end.
    const isLater = index > (progress.current ?? Number.POSITIVE_INFINITY);
    const judged = isLater ? { ...own, outstanding: Math.max(1, own.outstanding) } : own;
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
  { message, stage }: Excess,
  atMs: number,
): RolloutStop | undefined {
  const action = spec.failurePolicy?.action ?? 'Pause';
  const of = { message, atMs, ...(stage === undefined ? {} : { stage }) };
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
