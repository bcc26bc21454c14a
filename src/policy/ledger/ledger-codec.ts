/**
 * Text format of the ledger. The `head` shard holds the header, all open attempts and recently ended attempts. `log` shards hold
 * older ended attempts. `members` shards hold the members of started stages. Log and member shards are written once and stay unchanged
 * until the next rollout. Entries are packed arrays, because a large fleet may have one entry per collector.
 *
 * Monotonic times are not stored. A process that reads a ledger counts all ages from that moment (U5), and treats written-ahead
 * attempts as sent with an unknown outcome.
 */
import { LogfleetError } from '../../base/errors.ts';
import { maxShardBytes } from '../../host/host.ts';
import type { Attempt, AttemptState, Ending, EndingKind, Entry, LedgerHeader } from './ledger.ts';

const formatVersion = 3;

const endingKinds = [
  'updated',
  'failed',
  'timedOut',
  'refused',
  'offline',
  'invalid',
  'unobservable',
  'died',
  'left',
] as const;
const attemptStates = ['intended', 'accepted', 'unknown', 'adopted'] as const;

// Compile error when the lists omit a kind or a state.
type Missing =
  | Exclude<EndingKind, (typeof endingKinds)[number]>
  | Exclude<AttemptState, (typeof attemptStates)[number]>;
const nothingMissing: Missing extends never ? true : never = true;
void nothingMissing;

/** kind, end (s); then, unless `updated`: task id, message, start (s), last sign of life (ms), target */
type PackedEnding = [number, number, (string | null)?, string?, number?, (number | null)?, string?];
/** number of the tally that counts it, index of the stage that counts it, rollback flag, flag of a forgiven death */
type PackedRest = [number | null, (number | null)?, (0 | 1)?, (0 | 1)?];
/** collector, version before, attempts used, drifts, ending; then the remaining fields when not empty */
type PackedEntry = [string, string | null, number, number, (PackedEnding | null)?, PackedRest?];
/** number, target, state, task id, ours, probe, start (ms) */
type PackedAttempt = [number, string, number, string | null, 0 | 1, 0 | 1, number];

interface Head {
  readonly format: number;
  readonly header: LedgerHeader;
  /** Number of log shards of this rollout. */
  readonly logs: number;
  /** Collectors with an entry in a log shard that were forgotten later. */
  readonly forgotten: readonly string[];
  readonly ended: readonly PackedEntry[];
  readonly open: readonly (readonly [PackedEntry, PackedAttempt])[];
}

interface Log {
  readonly format: number;
  readonly rolloutId: string;
  readonly target: string;
  readonly ended: readonly PackedEntry[];
}

interface Members {
  readonly format: number;
  readonly rolloutId: string;
  readonly members: readonly string[];
}

export interface DecodedHead {
  readonly header: LedgerHeader;
  readonly logs: number;
  readonly entries: readonly Entry[];
  readonly forgotten: readonly string[];
}

/** One entry as text. Each change is encoded once, however often its shard is written. */
export function encodeEntry(entry: Entry, target: string): string {
  const packed = packEntry(entry, target);
  return JSON.stringify(entry.open ? [packed, packAttempt(entry.open)] : packed);
}

/** @param open, ended texts of `encodeEntry` */
export function encodeHead(
  header: LedgerHeader,
  logs: number,
  open: Iterable<string>,
  ended: Iterable<string>,
  forgotten: Iterable<string>,
): string {
  const start = { format: formatVersion, header, logs, forgotten: [...forgotten] };
  return `${JSON.stringify(start).slice(0, -1)},"ended":[${[...ended].join()}],"open":[${[...open].join()}]}`;
}

/** @param ended texts of `encodeEntry` */
export function encodeLog({ rolloutId, target }: LedgerHeader, ended: Iterable<string>): string {
  const start = { format: formatVersion, rolloutId, target };
  return `${JSON.stringify(start).slice(0, -1)},"ended":[${[...ended].join()}]}`;
}

/** Bytes of a member shard that are kept free for its other fields. */
const spareBytes = 1024;

/** Divides the members of a stage among shards. */
export function splitMembers(ids: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    const idBytes = Buffer.byteLength(JSON.stringify(id)) + 1;
    if (bytes + idBytes > maxShardBytes - spareBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(id);
    bytes += idBytes;
  }
  return parts;
}

export function encodeMembers({ rolloutId }: LedgerHeader, members: readonly string[]): string {
  return JSON.stringify({ format: formatVersion, rolloutId, members } satisfies Members);
}

/** Members in a shard that the head counts. Without them a stage would upgrade other collectors after a restart. */
export function decodeMembers(name: string, text: string | undefined, rolloutId: string): readonly string[] {
  const { members } = counted<Members>(name, text, rolloutId);
  return unpacked(() => members.map(String));
}

/** @param takeoverMs monotonic time from which all ages of this process count */
export function decodeHead(text: string, takeoverMs: number): DecodedHead {
  const { header, logs, forgotten, ...head } = parse<Head>(text);
  return unpacked(() => {
    const ended = head.ended.map((packed) => unpackEntry(packed, header.target, takeoverMs));
    const open = head.open.map(([packed, attempt]): Entry => {
      const entry = unpackEntry(packed, header.target, takeoverMs);
      return { ...entry, open: unpackAttempt(attempt, takeoverMs) };
    });
    return { header, logs, entries: [...ended, ...open], forgotten };
  });
}

/**
 * Entries of a log shard that the head counts. Its content cannot be observed again, so without it collectors with exhausted
 * retries would be tried again.
 * @param text undefined when the host has no such shard
 */
export function decodeLog(
  name: string,
  text: string | undefined,
  rolloutId: string,
  takeoverMs: number,
): readonly Entry[] {
  const log = counted<Log>(name, text, rolloutId);
  return unpacked(() => log.ended.map((packed) => unpackEntry(packed, log.target, takeoverMs)));
}

/** A shard that the head counts. It must exist, and belong to the same rollout. */
function counted<T extends Log | Members>(name: string, text: string | undefined, rolloutId: string): T {
  if (text === undefined) throw unreadable(`its part ${name} is missing`);
  const shard = parse<T>(text);
  if (shard.rolloutId === rolloutId) return shard;
  throw unreadable(`its part ${name} is of rollout ${shard.rolloutId}, not of ${rolloutId}`);
}

/** Decodes a shard. A shard that is valid JSON in an unexpected form was changed by another program. */
function unpacked<T>(unpack: () => T): T {
  try {
    return unpack();
  } catch (cause) {
    throw unreadable('its lines are not of the form that logfleet writes', cause);
  }
}

function nameAt<T>(names: readonly T[], place: number): T {
  const name = names[place];
  if (name === undefined) throw new RangeError(`there is no name ${place}`);
  return name;
}

function parse<T extends { readonly format: number }>(text: string): T {
  let parsed: T;
  try {
    parsed = JSON.parse(text) as T;
  } catch (cause) {
    throw unreadable('it is no JSON', cause);
  }
  if (parsed?.format === formatVersion) return parsed;
  const isOlder = parsed?.format < formatVersion;
  const remedy = isOlder ? 'Delete it once no upgrade is running. A new rollout then begins.' : undefined;
  throw unreadable(`its format is ${parsed?.format}, this version reads ${formatVersion}`, undefined, remedy);
}

function unreadable(
  why: string,
  cause?: unknown,
  remedy = 'Restore it, or delete it once no upgrade is running.',
): LogfleetError {
  return new LogfleetError({
    code: 'ledger.unreadable',
    reason: 'LedgerUnreadable',
    message: `The ledger of upgrade attempts cannot be read: ${why}. ${remedy}`,
    handling: { kind: 'stall' },
    cause,
  });
}

function packEntry(entry: Entry, target: string): PackedEntry {
  const { collectorId, before, used, drifts, ending } = entry;
  const start = [collectorId, before ?? null, used, drifts] as const;
  const packed = ending ? packEnding(ending, target) : undefined;
  const rest = packRest(entry);
  if (rest) return [...start, packed ?? null, rest];
  return packed ? [...start, packed] : [...start];
}

function packRest({ counted, back, forgiven }: Entry): PackedRest | undefined {
  const { tally = null, stage = null } = counted ?? {};
  if (forgiven) return [tally, stage, back ? 1 : 0, 1];
  if (back) return [tally, stage, 1];
  if (stage !== null) return [tally, stage];
  return tally === null ? undefined : [tally];
}

function packEnding(ending: Ending, target: string): PackedEnding {
  const { kind, toVersion, taskId, message, startedAtMs, endedAtMs, lastSeenAliveMs } = ending;
  const start = [endingKinds.indexOf(kind), seconds(endedAtMs)] as const;
  if (kind === 'updated' && toVersion === target) return [...start];
  const rest = [taskId ?? null, message, seconds(startedAtMs), lastSeenAliveMs ?? null] as const;
  return toVersion === target ? [...start, ...rest] : [...start, ...rest, toVersion];
}

function unpackEntry(packed: PackedEntry, target: string, takeoverMs: number): Entry {
  const [collectorId, before, used, drifts, ending, [tally, stage, back, forgiven] = [null]] = packed;
  return {
    collectorId,
    before: before ?? undefined,
    used,
    drifts,
    ...(typeof tally === 'number' && { counted: { tally, stage: stage ?? undefined } }),
    ...(forgiven === 1 && { forgiven: true }),
    back: back === 1,
    open: undefined,
    ending: ending ? unpackEnding(ending, target, takeoverMs) : undefined,
  };
}

function unpackEnding(packed: PackedEnding, target: string, takeoverMs: number): Ending {
  const [kind, ended, taskId, message, started, lastSeenAliveMs, toVersion] = packed;
  return {
    kind: nameAt<EndingKind>(endingKinds, kind),
    toVersion: toVersion ?? target,
    taskId: taskId ?? undefined,
    message: message ?? '',
    startedAtMs: (started ?? ended) * 1_000,
    endedAtMs: ended * 1_000,
    sinceMs: takeoverMs,
    lastSeenAliveMs: lastSeenAliveMs ?? undefined,
  };
}

function packAttempt({ number, toVersion, state, taskId, ours, probe, startedAtMs }: Attempt): PackedAttempt {
  return [number, toVersion, attemptStates.indexOf(state), taskId ?? null, ours ? 1 : 0, probe ? 1 : 0, startedAtMs];
}

function unpackAttempt(packed: PackedAttempt, takeoverMs: number): Attempt {
  const [number, toVersion, state, taskId, ours, probe, startedAtMs] = packed;
  return {
    number,
    toVersion,
    state: nameAt<AttemptState>(attemptStates, state),
    taskId: taskId ?? undefined,
    ours: ours === 1,
    probe: probe === 1,
    startedAtMs,
    sinceMs: takeoverMs,
    needsGrace: true,
  };
}

function seconds(wallMs: number): number {
  return Math.round(wallMs / 1_000);
}
