/**
 * How far a rollout has come in its stages, and what the next one waits for: one stage after the other, each with its approval before
 * it, its collectors, and its soak after them (R2, R3, R4).
 *
 * Who belongs to a stage that has ended, or comes to one that soaks, came late: it is started at once, and holds nobody up. One with a size
 * is settled by then, and has as many as it had (`settledSizes`). A stage in which nobody was, or could be,
 * upgraded is passed over, and ends with the first one after it that somebody is in: what nobody went through shields nobody.
 *
 * Leaves to others: who of them belongs to a stage (`stages.ts`), and whether it may go on at all (`failure-verdict.ts`).
 */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicySpec, Stage } from '../api/generated/collector-version-policy.ts';
import { parseDuration } from '../base/duration.ts';
import { hasTolerance } from './failure-verdict.ts';
import type { LedgerHeader, StageRecord, Tally } from './ledger.ts';
import { stageOrder } from './stages.ts';
import { type Counts, outstanding, totalOf } from './standing-counts.ts';

/** How those of a stage stand. */
export interface StageCount {
  readonly counts: Counts;
  readonly tally: Tally;
  /** How many were started in it and are in no list any more. */
  readonly vanished?: number;
  /** How many leave places to others, who take them after this decision. */
  readonly vacated?: number;
}

export interface StageInput {
  readonly spec: CollectorVersionPolicySpec;
  readonly header: LedgerHeader;
  readonly countOf: (stage: number) => StageCount;
  /** Of those that hold a stage up, who came once all others of it were at the target. */
  readonly latecomersOf: (stage: number) => number;
  /** Wall time at which the first request of the newest complete sweep was sent; undefined before the first. */
  readonly sweptSinceMs: number | undefined;
  readonly wallMs: number;
  /** Whether a person has just selected others: who comes by that does not come late to a stage that has ended, but goes through it. */
  readonly isReselected?: boolean;
  /** Whether a person has just gone on: who was forgotten by that leaves places, which are taken before a stage can end. */
  readonly isRetried?: boolean;
}

/** What those wait for who belong to a later stage. */
export interface Gate {
  /** Completes the sentence "waiting for …". */
  readonly waitsFor: string;
  /** Of the condition, where nothing else happens. */
  readonly reason: string | undefined;
  /** Wall time. */
  readonly untilMs: number | undefined;
  /** Whether only a person ends it. */
  readonly byPerson: boolean;
}

export interface StageProgress {
  /** As the ledger shall have them; the same object where nothing has changed. */
  readonly records: readonly StageRecord[];
  /** Members of stages up to this one may be started; infinity where all may. */
  readonly reached: number;
  /** The stage under way; undefined where there are none, or all have ended. */
  readonly current: number | undefined;
  readonly gate: Gate | undefined;
  /** Wall time from which a sweep is needed before the soak can end. */
  readonly sweepFromMs: number | undefined;
}

/** The service calls a collector alive for half an hour after its last sign of life (4.8), and somebody has to look. */
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

/** The index of the stage that is under way, or is next: the first that has not ended. Undefined where there is none. */
export function currentStage(
  stages: readonly Pick<Stage, 'name'>[],
  records: readonly StageRecord[] = noRecords,
): number | undefined {
  const isOver = (stage: string) => records.some(({ name, endedAtMs }) => name === stage && endedAtMs !== undefined);
  const index = stages.findIndex(({ name }) => !isOver(name));
  return index === -1 ? undefined : index;
}

/** Collectors of a stage that hold it up. */
export function heldUpBy(counts: Counts, { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>): number {
  const left = outstanding(counts);
  return offlinePolicy === 'Wait' ? left + counts.offline : left;
}

interface Step {
  /** Undefined where it has not begun. */
  readonly record: StageRecord | undefined;
  /** Whether nobody of it may be started before a person has approved it. */
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
  // Also where a person has asked for it in the midst of the stage.
  if (left > 0 && needsApproval(stage, header)) {
    const gate = byPerson(`the approval of stage ${name}`, reasons.awaitingApproval);
    return { record: before, isAwaited: true, gate };
  }
  const begun = before ?? { name, startedAtMs: wallMs };
  const shape = shapeOf(spec, index);
  // A soak goes on beside who comes late to it, or machines that come back now and then would hold it for ever.
  const mayComeLate = begun.updatedAtMs !== undefined && begun.shape === shape && !input.isReselected;
  if (left > 0 && !(mayComeLate && left === input.latecomersOf(index))) {
    return {
      record: unsoaked(begun),
      gate: gate(`the end of stage ${name}${awaitedWords(left - outstanding(counts))}`),
    };
  }
  if (isRetried) {
    // Whoever takes a place that is left does not come late. Where nobody does, it has its soak before it yet.
    const { shape: _, members: __, ...record } = begun;
    return { record, gate: gate(`the end of stage ${name}`, reasons.soaking) };
  }
  // Nobody goes through it for those who were refused, before their places are taken.
  if (vacated > 0) {
    const reason = begun.updatedAtMs === undefined ? reasons.rollingOut : reasons.soaking;
    return { record: begun, gate: gate(`the end of stage ${name}`, reason, wallMs) };
  }
  const members = stage.size === undefined ? {} : { members: totalOf(counts) + vanished };
  // Also of one whose places were free since a person went on, and that nobody took.
  const isSettled = begun.updatedAtMs !== undefined && begun.shape !== undefined;
  const updated = isSettled ? begun : { ...begun, updatedAtMs: begun.updatedAtMs ?? wallMs, shape, ...members };
  const isUnwatched = tally.finished === 0 && !begun.adopted && !(header.again && counts.updated > 0);
  const soakMs = isUnwatched ? 0 : soakMsOf(stage);
  const soakedMs = (updated.updatedAtMs ?? wallMs) + soakMs;
  if (tally.broken > 0 && !hasTolerance(stage, spec)) {
    return {
      record: updated,
      gate: byPerson(`a person to look at ${brokenWords(stage, tally)}`, reasons.collectorsFailed),
    };
  }
  if (tally.finished > 0 && Object.values(counts).every((count) => count === 0)) {
    const waitsFor = `a person to look at stage ${name}, of which no collector is in the list any more`;
    return { record: updated, gate: byPerson(waitsFor, reasons.collectorsFailed) };
  }
  if (vanished > counts.updated) {
    const waitsFor = `a person to look at stage ${name}, of which ${goneWords(vanished)}, more than are at the target`;
    return { record: updated, gate: byPerson(waitsFor, reasons.collectorsFailed) };
  }
  if (wallMs < soakedMs) {
    const short = soakMs < deathSeenAfterMs ? ' (seeing a death takes a soak of 35m)' : '';
    const gone = vanished > 0 ? ` (${goneWords(vanished)})` : '';
    const waitsFor = `the end of the soak of stage ${name}${short}${gone}`;
    return { record: updated, gate: gate(waitsFor, reasons.soaking, soakedMs) };
  }
  // A death is seen in a listing alone: the last word on the soak is one that was sent after it.
  if (soakMs > 0 && sweptSinceMs < soakedMs) {
    const waits = gate(`a last look at stage ${name} after its soak`, reasons.soaking);
    return { record: updated, gate: waits, sweepFromMs: soakedMs };
  }
  return { record: { ...updated, endedAtMs: wallMs } };
}

function unsoaked(record: StageRecord): StageRecord {
  const { updatedAtMs, shape: _, members: __, ...begun } = record;
  return updatedAtMs === undefined ? record : begun;
}

/** How many a stage with a size may have that soaks or has ended, by its name; undefined of others, and where another text may bring in more. */
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
  return `${broken} collector${broken === 1 ? '' : 's'} of stage ${name} that ${what}, since no maxFailures says how many may`;
}

/** Nothing else ends a stage that waits for who does not run. */
function awaitedWords(offline: number): string {
  if (offline === 0) return '';
  return offline === 1
    ? ', of which 1 collector has to come back'
    : `, of which ${offline} collectors have to come back`;
}

function goneWords(collectors: number): string {
  return collectors === 1 ? '1 collector is in the list no more' : `${collectors} collectors are in the list no more`;
}

/** Whether nobody else of a stage is started before a person has approved it, once its turn has come. */
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
