/**
 * Progress of a rollout through its stages, and the reason why the next stage waits. Stages run one after the other. Each stage has
 * its approval, its upgrades, and its soak (R2, R3, R4).
 *
 * - A collector that joins a stage that soaks or has ended is a late joiner. It is started at once and delays no stage.
 * - The number of members of a stage with `size` is frozen by then (`settledSizes`).
 * - A stage without an upgraded or upgradable member is passed over. It ends together with the first later stage that has one,
 *   because an empty stage proves nothing.
 *
 * `stages.ts` assigns the members of stages. `failure-verdict.ts` decides whether the rollout may continue.
 */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import { parseDuration } from '../base/duration.ts';
import { hasTolerance } from './failure-verdict.ts';
import type { LedgerHeader, StageRecord, Tally } from './ledger.ts';
import { stageOrder } from './stages.ts';
import { type Counts, outstanding, totalOf } from './standing-counts.ts';

/** Counts of the members of a stage. */
export interface StageCount {
  readonly counts: Counts;
  readonly tally: Tally;
  /** Number of collectors started in the stage that left the listing. */
  readonly vanished?: number;
  /** Number of places that other collectors take after this decision. */
  readonly vacated?: number;
}

export interface StageInput {
  readonly spec: CollectorVersionPolicySpec;
  readonly header: LedgerHeader;
  readonly countOf: (stage: number) => StageCount;
  /** Of the collectors that delay a stage, the number that joined after all others ran the target. */
  readonly latecomersOf: (stage: number) => number;
  /** Wall ms at which the first request of the newest complete sweep was sent; undefined before the first. */
  readonly sweptSinceMs: number | undefined;
  readonly wallMs: number;
  /**
   * Whether a person has just changed the selection. Members added by the change are not late joiners of an ended stage, but pass
   * through it.
   */
  readonly isReselected?: boolean;
  /** Whether a person has just retried. Collectors forgotten by the retry leave places, which are filled before a stage can end. */
  readonly isRetried?: boolean;
}

/** Reason why the collectors of later stages wait. */
export interface Gate {
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
  /** Reason of the condition while nothing else happens. */
  readonly reason: string | undefined;
  /** Wall ms at which the wait ends, if known. */
  readonly untilMs: number | undefined;
  /** Whether only a person ends the wait. */
  readonly byPerson: boolean;
}

export interface StageProgress {
  /** Stage records for the ledger; the same object when nothing changed. */
  readonly records: readonly StageRecord[];
  /** Members of stages up to this index may be started; Infinity when all may. */
  readonly reached: number;
  /** The stage under way; undefined without stages, or when all have ended. */
  readonly current: number | undefined;
  readonly gate: Gate | undefined;
  /** Wall ms from which a sweep is needed before the soak can end. */
  readonly sweepFromMs: number | undefined;
}

/**
 * Time until a dead collector is certainly seen: the service reports it as alive for half an hour (4.8), and then a listing has to
 * be read.
 */
const deathSeenAfterMs = 35 * 60_000;

const noRecords: readonly StageRecord[] = [];

export function progressStages(input: StageInput): StageProgress {
  const { spec, header } = input;
  const stages = spec.strategy.stages ?? [];
  let records = header.stages ?? noRecords;
  const open = {
    records,
    reached: Number.POSITIVE_INFINITY,
    current: undefined,
    gate: undefined,
    sweepFromMs: undefined,
  };
  let proven = records;
  for (const [index, stage] of stages.entries()) {
    const known = records.find(({ name }) => name === stage.name);
    const count = input.countOf(index);
    const isOver = known?.endedAtMs !== undefined;
    if (isOver && !(input.isReselected && heldUpBy(count.counts, spec) > 0)) continue;
    const before = isOver ? { name: stage.name, startedAtMs: known.startedAtMs } : known;
    const step = stepOf(stage, index, before, count, input);
    records = withRecord(records, step.record);
    if (step.record?.endedAtMs !== undefined) {
      if (before || count.counts.updated > 0 || count.tally.finished > 0) proven = records;
      continue;
    }
    const reached = step.isAwaited ? index - 1 : index;
    return { records, reached, current: index, gate: step.gate, sweepFromMs: step.sweepFromMs };
  }
  return { ...open, records: proven };
}

/** Index of the stage that is under way or next: the first that has not ended. Undefined when there is none. */
export function currentStage(
  stages: readonly Pick<Stage, 'name'>[],
  records: readonly StageRecord[] = noRecords,
): number | undefined {
  const isOver = (stage: string) => records.some(({ name, endedAtMs }) => name === stage && endedAtMs !== undefined);
  const index = stages.findIndex(({ name }) => !isOver(name));
  return index === -1 ? undefined : index;
}

/** Number of collectors that delay a stage. */
export function heldUpBy(counts: Counts, { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>): number {
  const left = outstanding(counts);
  return offlinePolicy === 'Wait' ? left + counts.offline : left;
}

interface Step {
  /** Undefined while the stage has not begun. */
  readonly record: StageRecord | undefined;
  /** Whether members of the stage wait for an approval. */
  readonly isAwaited?: true;
  readonly gate?: Gate;
  readonly sweepFromMs?: number;
}

function stepOf(
  stage: Stage,
  index: number,
  before: StageRecord | undefined,
  { counts, tally, vanished = 0, vacated = 0 }: StageCount,
  input: StageInput,
): Step {
  const { spec, header, sweptSinceMs = Number.NEGATIVE_INFINITY, wallMs, isRetried = false } = input;
  const { name } = stage;
  const left = heldUpBy(counts, spec);
  // Also applies when the approval was added to the spec while the stage is under way.
  if (left > 0 && needsApproval(stage, header)) {
    const gate = byPerson(`the approval of stage ${name}`, reasons.awaitingApproval);
    return { record: before, isAwaited: true, gate };
  }
  const begun = before ?? { name, startedAtMs: wallMs };
  const shape = shapeOf(spec, index);
  // A soak continues beside late joiners. Otherwise collectors that come back now and then would keep it from ending.
  const mayComeLate = begun.updatedAtMs !== undefined && begun.shape === shape && !input.isReselected;
  if (left > 0 && !(mayComeLate && left === input.latecomersOf(index))) {
    return {
      record: unsoaked(begun),
      gate: gate(`the end of stage ${name}${awaitedWords(left - outstanding(counts))}`),
    };
  }
  if (isRetried) {
    // A collector that takes a free place is not a late joiner. Without such a collector, the stage still has its soak ahead.
    const { shape: _, members: __, ...record } = begun;
    return { record, gate: gate(`the end of stage ${name}`, reasons.soaking) };
  }
  // The stage waits until the places of refused collectors are taken.
  if (vacated > 0) {
    const reason = begun.updatedAtMs === undefined ? reasons.rollingOut : reasons.soaking;
    return { record: begun, gate: gate(`the end of stage ${name}`, reason, wallMs) };
  }
  const members = stage.size === undefined ? {} : { members: totalOf(counts) + vanished };
  // Also applies to a stage whose places became free by a retry and were not taken.
  const isSettled = begun.updatedAtMs !== undefined && begun.shape !== undefined;
  const updated = isSettled ? begun : { ...begun, updatedAtMs: begun.updatedAtMs ?? wallMs, shape, ...members };
  const isUnwatched = tally.finished === 0 && !(header.unproven && counts.updated > 0);
  const soakMs = isUnwatched ? 0 : soakMsOf(stage);
  const soakedMs = (updated.updatedAtMs ?? wallMs) + soakMs;
  if (tally.broken > 0 && !hasTolerance(stage, spec)) {
    return {
      record: updated,
      gate: byPerson(`a person to examine ${brokenWords(stage, tally)}`, reasons.collectorsFailed),
    };
  }
  if (tally.finished > 0 && Object.values(counts).every((count) => count === 0)) {
    const waitsFor = `a person to examine stage ${name}: none of its collectors is listed any more`;
    return { record: updated, gate: byPerson(waitsFor, reasons.collectorsFailed) };
  }
  if (vanished > counts.updated) {
    const waitsFor = `a person to examine stage ${name}: ${goneWords(vanished)}, more than are at the target`;
    return { record: updated, gate: byPerson(waitsFor, reasons.collectorsFailed) };
  }
  if (wallMs < soakedMs) {
    const short = soakMs < deathSeenAfterMs ? ' (a death is visible only after 35m)' : '';
    const gone = vanished > 0 ? ` (${goneWords(vanished)})` : '';
    const waitsFor = `the end of the soak of stage ${name}${short}${gone}`;
    return { record: updated, gate: gate(waitsFor, reasons.soaking, soakedMs) };
  }
  // Only a listing shows a death, so a soak ends with a listing that was sent after it.
  if (soakMs > 0 && sweptSinceMs < soakedMs) {
    const waits = gate(`a listing of stage ${name} after its soak`, reasons.soaking);
    return { record: updated, gate: waits, sweepFromMs: soakedMs };
  }
  return { record: { ...updated, endedAtMs: wallMs } };
}

function unsoaked(record: StageRecord): StageRecord {
  const { updatedAtMs, shape: _, members: __, ...begun } = record;
  return updatedAtMs === undefined ? record : begun;
}

/**
 * Maximum number of members by name of stage, for stages with `size` that soak or have ended. Undefined for other stages, and when
 * a changed definition may add members.
 */
export function settledSizes(
  spec: Pick<CollectorVersionPolicySpec, 'strategy'>,
  records: readonly StageRecord[] = noRecords,
): (stage: string) => number | undefined {
  const sizes = new Map<string, number>();
  for (const [index, { name }] of (spec.strategy.stages ?? []).entries()) {
    const { members, shape, endedAtMs } = records.find((record) => record.name === name) ?? {};
    const stands = endedAtMs !== undefined || shape === shapeOf(spec, index);
    if (members !== undefined && stands) sizes.set(name, members);
  }
  return (stage) => sizes.get(stage);
}

function shapeOf({ strategy }: Pick<CollectorVersionPolicySpec, 'strategy'>, index: number): number {
  const taken = strategy.stages?.slice(0, index + 1).map(({ name, size, selector }) => [name, size, selector]);
  return stageOrder(JSON.stringify(taken));
}

function brokenWords({ name }: Stage, { broken, died }: Tally): string {
  const what = died === 0 ? 'failed' : died === broken ? 'died within its soak' : 'failed or died within its soak';
  return `${broken} collector${broken === 1 ? '' : 's'} of stage ${name} that ${what}, because no maxFailures is set`;
}

/** A stage that waits for offline collectors ends only when they come back. */
function awaitedWords(offline: number): string {
  if (offline === 0) return '';
  return offline === 1
    ? ', of which 1 collector has to come back'
    : `, of which ${offline} collectors have to come back`;
}

function goneWords(collectors: number): string {
  return collectors === 1 ? '1 collector is no longer listed' : `${collectors} collectors are no longer listed`;
}

/** Whether collectors of a stage wait for an approval when the turn of the stage has come. */
export function needsApproval({ name, approval }: Stage, { approved }: LedgerHeader): boolean {
  return approval === 'Required' && !approved?.includes(name);
}

export function soakMsOf({ soakDuration }: Stage): number {
  return parseDuration(soakDuration) ?? 0;
}

function gate(waitsFor: string, reason?: string, untilMs?: number): Gate {
  return { waitsFor, reason, untilMs, byPerson: false };
}

function byPerson(waitsFor: string, reason: string): Gate {
  return { waitsFor, reason, untilMs: undefined, byPerson: true };
}

function withRecord(records: readonly StageRecord[], record: StageRecord | undefined): readonly StageRecord[] {
  if (!record) return records;
  const index = records.findIndex(({ name }) => name === record.name);
  if (index === -1) return [...records, record];
  return records[index] === record ? records : records.with(index, record);
}
