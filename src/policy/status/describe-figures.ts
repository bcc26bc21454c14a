/** Builds the parts of a policy's status that change often: counts, upgrade tasks and failures. */

import { reasons } from '../../api/conditions.ts';
import type {
  AnalysisPeriod,
  CollectorCounts,
  CollectorVersionPolicySpec,
  CollectorVersionPolicyStatus,
  ReasonCount,
  RecoveryStatus,
  StageAnalysisStatus,
  StageStatus,
  TaskSample,
  VersionCount,
} from '../../api/generated/collector-version-policy.ts';
import { bounded } from '../../base/short-text.ts';
import { compareText } from '../../base/text-order.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { Health } from '../../controller/health.ts';
import { analysisPeriods, analysisVerdict } from '../analysis/message-analysis.ts';
import { comparedAfterRollback, type PendingCheck, recoveryPeriod } from '../analysis/recovery.ts';
import type { AnalysisOutcome, Attempt, Ending, Entry, StageAnalysis, StageRecord } from '../ledger/ledger.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import { countMembers, expectedMembers, soakEndMs, waitingStages } from '../members/stages.ts';
import { type Counts, countUnfinished, emptyCounts, withdrawn } from '../members/state-counts.ts';
import type { RolloutState } from '../rollout/rollout-state.ts';
import { eligibleMembers, type Fleet } from './policy-health.ts';
import { waitText } from './wait-text.ts';

const maxStages = 10;
const maxSamples = 50;
const maxVersions = 50;
const maxReasons = 20;
const maxExamples = 5;
/** Maximum length in characters of the reason why an analysis is unavailable. */
const maxAnalysisLength = 1_024;
/** Maximum length in characters of names, reasons and messages in the status. */
const maxTextLength = 256;
const maxVersionLength = 64;
/**
 * Maximum length of a task id in the status. A longer id is left out, because a shortened id could be the id of another
 * task.
 */
const maxIdLength = 32;
/** Maximum size in bytes of the upgrade tasks in the status. The limit keeps the whole status below 100 KB. */
const maxTaskBytes = 17_000;
const maxReasonBytes = 12_000;
const maxVersionBytes = 6_000;
/** Maximum size in bytes of a stage's list of collectors that sent too few messages. */
const maxQuietBytes = 1_800;

/** Counts and lists of a policy's status. They change often, so there is a minimum interval between writes. */
export interface Figures {
  readonly summary: NonNullable<CollectorVersionPolicyStatus['summary']>;
  readonly collectors: CollectorCounts;
  readonly versions: readonly VersionCount[];
  readonly tasks: readonly TaskSample[];
  readonly failureReasons: readonly ReasonCount[];
  readonly skippedReasons: readonly ReasonCount[];
  readonly stages: readonly StageStatus[];
}

export interface FiguresInput {
  readonly memberIndex: MemberView;
  readonly pending: PendingChanges;
  /** Counts of the policy's collectors after this decision. */
  readonly fleet: Fleet;
  /** Number of upgrades that this decision cancels before their requests are sent. */
  readonly unsent: number;
  /** Collectors whose upgrade requests were rejected without a known reason (U11). */
  readonly rejected: ReadonlySet<string>;
  readonly health: Health;
  readonly spec: CollectorVersionPolicySpec;
  readonly state: Pick<RolloutState, 'header' | 'current' | 'next' | 'gate' | 'rollback' | 'recovery'>;
}

export function describeFigures(input: FiguresInput): Figures {
  const { memberIndex, pending, fleet, health } = input;
  return {
    summary: { updated: `${fleet.counts.updated}/${eligibleMembers(fleet)}`, state: health.reason },
    collectors: describeCounts(fleet.counts, fleet.matched),
    versions: describeVersions(versionsNow(memberIndex, pending)),
    tasks: describeTasks(memberIndex, pending),
    failureReasons: describeFailures(input),
    skippedReasons: describeSkipped(memberIndex, pending),
    stages: describeStages(input),
  };
}

/** Statuses of the stages: the started stages, then the other stages in the spec. */
function describeStages(input: FiguresInput): readonly StageStatus[] {
  const { memberIndex, pending, spec, state } = input;
  const { header, next, gate } = state;
  const awaitsApproval = gate?.byPerson === true && countUnfinished(pending.counts()) > 0;
  const started = (header.stages ?? []).map((record, index) => describeStarted(record, index, input));
  const expected = expectedMembers(header, pending.candidates(), spec, memberIndex.matched);
  const waiting = waitingStages(spec, header).map(({ name }, index): StageStatus => {
    const counts = emptyCounts();
    for (const { memberState } of expected[index] ?? []) counts[memberState]++;
    const { updated, failed } = counts;
    // A stage with no collectors to upgrade needs no approval.
    const shown = awaitsApproval && next?.name === name ? 'AwaitingApproval' : 'Pending';
    return { name, members: countMembers(counts, spec), updated, failed, state: shown };
  });
  return [...started, ...waiting].slice(0, maxStages);
}

function describeStarted(record: StageRecord, index: number, input: FiguresInput): StageStatus {
  const { pending, unsent, spec, state } = input;
  const { name, startedAtMs, endedAtMs = Infinity, soakMs, tally } = record;
  const counts = withdrawn(pending.stageCounts(index), unsent);
  const shown = stageState(record, index, state);
  const soakedMs = soakMs > 0 ? soakEndMs(record) : Infinity;
  // The status shows no soak for a failed stage, or for a stage that ended without a soak because it had nothing to
  // upgrade.
  const hasSoak = Number.isFinite(soakedMs) && soakedMs <= endedAtMs && shown !== 'Failed';
  return {
    name,
    members: countMembers(counts, spec, record),
    updated: counts.updated,
    failed: counts.failed,
    ...(counts.inProgress > 0 ? { inProgress: counts.inProgress } : {}),
    ...(tally.failed > 0 ? { failedAttempts: tally.failed } : {}),
    state: shown,
    startTime: isoSeconds(startedAtMs),
    ...(hasSoak ? { soakedUntil: isoSeconds(soakedMs) } : {}),
    ...((hasSoak || record.analysis?.outcome) && record.analysis
      ? { analysis: describeAnalysis(record, record.analysis, soakedMs, state) }
      : {}),
  };
}

function describeAnalysis(
  { name, startedAtMs, endedAtMs }: StageRecord,
  analysis: StageAnalysis,
  soakedMs: number,
  { gate, recovery: check }: FiguresInput['state'],
): StageAnalysisStatus {
  const { baseline, result } = analysisPeriods(analysis, startedAtMs, soakedMs);
  const periods = { baseline: describePeriod(baseline), result: describePeriod(result) };
  const { outcome } = analysis;
  if (outcome) {
    const { judged, quiet, unjudged, scannedBytes, quietest } = outcome;
    const state = analysisVerdict(outcome);
    const figures = { state, judged, quiet, unjudged, scannedBytes, ...periods };
    const recovery = describeRecovery(analysis, outcome, check?.stage === name ? check : undefined);
    return { ...figures, quietest: within(maxQuietBytes, quietest), ...(recovery && { recovery }) };
  }
  const isUnavailable = endedAtMs === undefined && gate?.reason === reasons.analysisUnavailable;
  if (isUnavailable)
    return { state: 'Unavailable', message: bounded(waitText(gate.cause), maxAnalysisLength), ...periods };
  const isRunning = gate?.reason === reasons.analyzing && gate.untilMs === undefined;
  return { state: isRunning ? 'Running' : 'Pending', ...periods };
}

function describeRecovery(
  { recovery, ...analysis }: StageAnalysis,
  { quietest }: AnalysisOutcome,
  check: PendingCheck | undefined,
): RecoveryStatus | undefined {
  if (!recovery) return undefined;
  const { recovered } = recovery;
  const period = describePeriod(recoveryPeriod({ ...analysis, recovery }));
  if (recovered !== undefined)
    return { state: recovered === comparedAfterRollback(quietest) ? 'Recovered' : 'StillQuiet', recovered, period };
  if (check?.error) return { state: 'Unavailable', message: bounded(check.error.message, maxAnalysisLength), period };
  return { state: check && check.untilMs === undefined ? 'Running' : 'Pending', period };
}

function describePeriod({ fromMs, toMs }: TimeRange): AnalysisPeriod {
  return { startTime: isoSeconds(fromMs), endTime: isoSeconds(toMs) };
}

function stageState(
  { endedAtMs, updatedAtMs }: StageRecord,
  index: number,
  { header, current, gate }: FiguresInput['state'],
): StageStatus['state'] {
  if (endedAtMs !== undefined) return 'Completed';
  if (index === current && header.stop) return 'Stopped';
  if (index === current && gate?.reason === reasons.collectorsFailed) return 'Failed';
  return updatedAtMs === undefined ? 'Progressing' : 'Soaking';
}

export function describeCounts(counts: Counts, matched: number): CollectorCounts {
  const { retrying, drifting, ...shown } = counts;
  return { matched, ...shown, pending: shown.pending + retrying + drifting };
}

function versionsNow(memberIndex: MemberView, pending: PendingChanges): ReadonlyMap<string, number> {
  const counts = new Map(memberIndex.countVersions());
  const add = (version: string, change: number) => counts.set(version, (counts.get(version) ?? 0) + change);
  for (const { collectorId, ending, open, isRollback } of pending.entries()) {
    if (open) continue;
    const counted = memberIndex.member(collectorId)?.version;
    if (ending?.kind !== 'updated' || ending.toVersion === counted) continue;
    const state = pending.stateOf(collectorId);
    if (isRollback ? !isAwaitingListing(memberIndex, collectorId, ending) : state !== 'updated') continue;
    if (counted !== undefined) add(counted, -1);
    add(ending.toVersion, 1);
  }
  for (const { collectorId, open, before } of pending.open()) {
    if (before === undefined || before === open?.toVersion) continue;
    if (memberIndex.member(collectorId)?.version !== open?.toVersion) continue;
    add(open?.toVersion ?? '', -1);
    add(before, 1);
  }
  return counts;
}

/** Reports whether the newest listing may show the collector as it was before its last upgrade (U8). */
function isAwaitingListing(memberIndex: MemberView, collectorId: string, { sinceMs }: Ending): boolean {
  const seenAtMs = memberIndex.row(collectorId)?.seenAtMs ?? Number.NEGATIVE_INFINITY;
  return seenAtMs < sinceMs + memberIndex.context.settings.graceMs;
}

function describeVersions(versions: ReadonlyMap<string, number>): readonly VersionCount[] {
  const groups = Map.groupBy(versions, ([version]) => bounded(version, maxVersionLength));
  const counts = Array.from(groups, ([version, of]) => ({
    version,
    count: of.reduce((sum, [, count]) => sum + count, 0),
  }));
  const sorted = counts
    .filter(({ count }) => count > 0)
    .sort((left, right) => right.count - left.count || compareText(left.version, right.version));
  return within(maxVersionBytes, sorted.slice(0, maxVersions));
}

/** Upgrade tasks in the status: at most 50 running tasks, oldest first, then at most 50 ended tasks, newest first. */
function describeTasks(memberIndex: MemberView, pending: PendingChanges): readonly TaskSample[] {
  const open = [...pending.open()].slice(0, maxSamples).map((entry) => describeOpen(entry, memberIndex));
  const ended = [...pending.entries()].filter(({ open, ending }) => !open && ending?.taskId !== undefined);
  const endedAtMs = ({ ending }: Entry) => ending?.endedAtMs ?? 0;
  const newest = ended.sort((left, right) => endedAtMs(right) - endedAtMs(left)).slice(0, maxSamples);
  const closed = newest.map((entry) => describeEnded(entry, entry.ending as Ending, memberIndex));
  return [...within(maxTaskBytes, open), ...within(maxTaskBytes, closed)];
}

function describeOpen(entry: Entry, memberIndex: MemberView): TaskSample {
  const { taskId, toVersion, state, startedAtMs } = entry.open as Attempt;
  return {
    ...describeTask(taskId, toVersion, entry, memberIndex),
    state: openStates[state],
    startTime: isoSeconds(startedAtMs),
  };
}

function describeEnded(entry: Entry, ending: Ending, memberIndex: MemberView): TaskSample {
  return {
    ...describeTask(ending.taskId, ending.toVersion, entry, memberIndex),
    state: endingStates[ending.kind],
    startTime: isoSeconds(ending.startedAtMs),
    endTime: isoSeconds(ending.endedAtMs),
    ...(ending.message === '' ? {} : { message: bounded(ending.message, maxTextLength) }),
  };
}

const openStates = { intended: 'Starting', accepted: 'Running', unknown: 'Unknown', adopted: 'Adopted' } as const;

const endingStates = {
  updated: 'Succeeded',
  failed: 'Failed',
  timedOut: 'TimedOut',
  refused: 'Refused',
  offline: 'Offline',
  invalid: 'Refused',
  unobservable: 'NotObservable',
  died: 'Died',
  left: 'Left',
} as const;

function describeTask(taskId: string | undefined, to: string, entry: Entry, memberIndex: MemberView) {
  const { collectorId, before, isRollback } = entry;
  // A rollback starts from the target version. Any other upgrade starts from the collector's former version (`before`).
  const from = isRollback ? memberIndex.context.targetVersion : before;
  return {
    ...(taskId !== undefined && taskId.length <= maxIdLength && { id: taskId }),
    collector: nameOf(collectorId, memberIndex),
    collectorId,
    ...(from === undefined ? {} : { from: bounded(from, maxVersionLength) }),
    to: bounded(to, maxVersionLength),
  };
}

/**
 * Describes the failed upgrades, grouped by message. Includes collectors that could not be rolled back (U14), and
 * collectors whose upgrade requests were rejected without a known reason (U11).
 */
function describeFailures({
  memberIndex,
  pending,
  rejected,
  state: { rollback },
}: FiguresInput): readonly ReasonCount[] {
  const left = (rollback?.left ?? []).map(({ collectorId, why }) => ({
    collectorId,
    reason: `not rolled back: ${why}`,
  }));
  const failed = (['failed', 'retrying'] as const).flatMap((memberState) =>
    [...memberIndex.members(memberState)].flatMap((collectorId) => {
      const ending = pending.entry(collectorId)?.ending;
      const isFailed = ending && pending.stateOf(collectorId) === memberState;
      return isFailed ? [{ collectorId, reason: ending.message || 'no reason given' }] : [];
    }),
  );
  // During a rollback, a collector that has not been rolled back yet counts as updated.
  const unfinished = rollback ? ['inProgress', 'updated'] : ['inProgress', 'pending', 'retrying', 'drifting'];
  const waiting = [...rejected]
    .filter((collectorId) => unfinished.includes(pending.stateOf(collectorId) ?? ''))
    .map((collectorId) => ({
      collectorId,
      reason: 'the service or a proxy rejected the upgrade request without giving a reason',
    }));
  return groupReasons([...left, ...failed, ...waiting], memberIndex);
}

function describeSkipped(memberIndex: MemberView, pending: PendingChanges): readonly ReasonCount[] {
  const skipped = [...memberIndex.members('skipped')].flatMap((collectorId) => {
    const entry = pending.entry(collectorId);
    const reason = memberIndex.skipReason(collectorId, entry);
    const message = reason === 'RefusedByService' ? entry?.ending?.message : undefined;
    return reason === undefined ? [] : [{ collectorId, reason: message ? `${reason}: ${message}` : reason }];
  });
  return groupReasons(skipped, memberIndex);
}

function nameOf(id: string, memberIndex: MemberView): string {
  return bounded(memberIndex.row(id)?.collector.name ?? id, maxTextLength);
}

function groupReasons(
  reasons: readonly { readonly collectorId: string; readonly reason: string }[],
  memberIndex: MemberView,
): readonly ReasonCount[] {
  const groups = Map.groupBy(reasons, ({ reason }) => bounded(reason, maxTextLength));
  const counts = Array.from(groups, ([reason, of]) => {
    const examples = of.slice(0, maxExamples).map(({ collectorId }) => nameOf(collectorId, memberIndex));
    return { reason, count: of.length, examples };
  });
  counts.sort((left, right) => right.count - left.count || compareText(left.reason, right.reason));
  return within(maxReasonBytes, counts.slice(0, maxReasons));
}

/**
 * Returns the number of skipped collectors that the user must examine. Hosted collectors are not counted, because
 * logfleet never upgrades them.
 */
export function countToExamine(memberIndex: MemberView, pending: PendingChanges): number {
  const mustBeExamined = (id: string) => {
    if (pending.stateOf(id) !== 'skipped') return false;
    const entry = pending.entry(id);
    const reason = memberIndex.skipReason(id, entry);
    if (reason !== 'NotPermitted') return reason === 'RefusedByService' || reason === 'Contested';
    // The service also refuses to upgrade a collector that was uninstalled. Only a listing requested after the grace
    // period proves that the collector still exists.
    return (memberIndex.row(id)?.seenAtMs ?? 0) >= (entry?.ending?.sinceMs ?? 0) + memberIndex.context.settings.graceMs;
  };
  let toExamine = 0;
  for (const id of memberIndex.members('skipped')) if (mustBeExamined(id)) toExamine++;
  for (const { collectorId } of pending.changes()) {
    if (memberIndex.member(collectorId)?.memberState !== 'skipped' && mustBeExamined(collectorId)) toExamine++;
  }
  return toExamine;
}

/** Returns the first items of a list, as many as fit into `maxBytes`. */
function within<T>(maxBytes: number, samples: readonly T[]): readonly T[] {
  let bytes = 0;
  const end = samples.findIndex((sample) => {
    bytes += Buffer.byteLength(JSON.stringify(sample)) + 1;
    return bytes > maxBytes;
  });
  return end === -1 ? samples : samples.slice(0, end);
}
