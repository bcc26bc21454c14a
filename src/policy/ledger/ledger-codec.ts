/**
 * Converts a policy's ledger (its stored record of upgrade attempts) to text and back. A large fleet has many ledger
 * entries, so each entry is stored as a short array. Monotonic times are not stored. After a restart, the age of a
 * running upgrade counts from the moment at which the ledger is read (U5).
 */
import { failure, type LogfleetError } from '../../base/errors.ts';
import { ledgerFormat, maxShardBytes } from '../../host/host.ts';
import {
  type Attempt,
  attemptStates,
  type Ending,
  type Entry,
  type EntryChange,
  endingKinds,
  type LedgerHeader,
} from './ledger.ts';

/**
 * Stored array that describes how an upgrade attempt ended: index of the kind of ending, end time in s, task id,
 * message, start time in s, `lastSeenAlive` of an offline collector in ms, version. The version is absent if it is the
 * target version of the rollout.
 */
type PackedEnding = [number, number, (string | null)?, string?, number?, (number | null)?, (string | null)?];
/**
 * Stored array with the fields of a ledger entry that are rarely set: `counted.tally`, `counted.stage`, `isRollback`
 * and `failureCleared`.
 */
type PackedRest = [(number | null)?, (number | null)?, (1 | null)?, (1 | null)?];
/**
 * Stored array for one ledger entry: collector id, version before the rollout, number of attempts, number of drifts,
 * ending of the last attempt, and fields that are rarely set.
 */
type PackedEntry = [string, string | null, number, number, (PackedEnding | null)?, (PackedRest | null)?];
/**
 * Stored id of a collector whose ledger entry was removed. All entries of the collector in earlier `log-N` objects are
 * ignored.
 */
type PackedRemoval = string;
/**
 * Stored array for one open attempt: number of the attempt, target version, state, task id, whether logfleet started
 * the upgrade, whether the request was repeated, start time in ms.
 */
type PackedAttempt = [number, string, number, string | null, 0 | 1, 0 | 1, number];

export interface ShardNumbers {
  /** Number of `log-N` objects of this rollout. These objects contain attempts that ended earlier. */
  readonly logs: number;
  /** Number of `members-STAGE-N` objects for each started stage. These objects contain the collectors of the stage. */
  readonly memberShards: readonly number[];
  /**
   * Number of times that ledger objects other than `head` have been written. Each of these objects contains the number
   * of its own write, so that no two writes have the same content.
   */
  readonly shardWrites: number;
}

interface Head extends ShardNumbers {
  readonly format: number;
  readonly header: LedgerHeader;
  /** Ids of collectors whose ledger entries were removed. Only earlier versions of logfleet wrote this field. */
  readonly forgotten?: readonly string[];
  readonly ended: readonly (PackedEntry | PackedRemoval)[];
  readonly open: readonly (readonly [PackedEntry, PackedAttempt])[];
}

/** Fields of all ledger objects except `head`. */
interface OtherShard {
  readonly format: number;
  readonly rolloutId: string;
  readonly shardWrites: number;
}

interface Log extends OtherShard {
  readonly target: string;
  readonly ended: readonly (PackedEntry | PackedRemoval)[];
}

interface MembersShard extends OtherShard {
  readonly members: readonly string[];
}

export interface DecodedHead extends ShardNumbers, Pick<Head, 'header'> {
  /** Entries in `head`, and removals of entries that are in a `log-N` object. */
  readonly changes: readonly EntryChange[];
}

/** Encodes one ledger entry as text. The caller keeps the text until the entry changes. */
export function encodeEntry(entry: Entry, target: string): string {
  const packed = packEntry(entry, target);
  return JSON.stringify(entry.open ? [packed, packAttempt(entry.open)] : packed);
}

/** Encodes the removal of a ledger entry that is in a `log-N` object. */
export function encodeRemoval(collectorId: string): string {
  return JSON.stringify(collectorId satisfies PackedRemoval);
}

/**
 * Encodes the ledger object `head`. `open` and `ended` contain texts from `encodeEntry`, and `ended` also contains texts
 * from `encodeRemoval`.
 */
export function encodeHead(
  header: LedgerHeader,
  numbers: ShardNumbers,
  open: Iterable<string>,
  ended: Iterable<string>,
): string {
  const start = { format: ledgerFormat, header, ...numbers };
  return `${JSON.stringify(start).slice(0, -1)},"ended":[${[...ended].join()}],"open":[${[...open].join()}]}`;
}

/**
 * Encodes a ledger object `log-N`, which contains attempts that ended earlier. `ended` contains texts from `encodeEntry`
 * and `encodeRemoval`.
 */
export function encodeLog({ rolloutId, target }: LedgerHeader, shardWrites: number, ended: readonly string[]): string {
  const start = { format: ledgerFormat, rolloutId, shardWrites, target };
  return `${JSON.stringify(start).slice(0, -1)},"ended":[${ended.join()}]}`;
}

/** Number of bytes that are reserved in each ledger object for fields other than the items of its list. */
const spareBytes = 1024;

/** Splits the encoded items of a list into groups. Each group fits into one ledger object. */
export function splitItems(items: Iterable<string>): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const itemBytes = Buffer.byteLength(item) + 1;
    if (bytes + itemBytes > maxShardBytes - spareBytes) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(item);
    bytes += itemBytes;
  }
  return groups;
}

/** Encodes a ledger object with collectors of a stage. `members` contains collector ids as JSON strings. */
export function encodeMembers({ rolloutId }: LedgerHeader, shardWrites: number, members: readonly string[]): string {
  const start = { format: ledgerFormat, rolloutId, shardWrites };
  return `${JSON.stringify(start).slice(0, -1)},"members":[${members.join()}]}`;
}

/** Decodes a ledger object that contains collectors of a stage. Throws if the object is missing. */
export function decodeMembers(name: string, text: string | undefined, rolloutId: string): readonly string[] {
  const { members } = counted<MembersShard>(name, text, rolloutId);
  return unpacked(() => members.map(String));
}

/**
 * Decodes the ledger object `head`.
 * @param takeoverMs monotonic time in ms from which the age of each attempt counts
 */
export function decodeHead(text: string, takeoverMs: number): DecodedHead {
  const { format: _, forgotten = [], ended, open, ...head } = parse<Head>(text);
  return unpacked(() => {
    const { target } = head.header;
    const opened = open.map(([packed, attempt]) => {
      const entry = { ...unpackEntry(packed, target, takeoverMs), open: unpackAttempt(attempt, takeoverMs) };
      return { collectorId: entry.collectorId, entry };
    });
    const removed = forgotten.map((collectorId) => ({ collectorId, entry: undefined }));
    return { ...head, changes: [...removed, ...unpackEnded(ended, target, takeoverMs), ...opened] };
  });
}

/** Decodes a ledger object that contains ended upgrade attempts. Throws if the object is missing. */
export function decodeLog(
  name: string,
  text: string | undefined,
  rolloutId: string,
  takeoverMs: number,
): readonly EntryChange[] {
  const { ended, target } = counted<Log>(name, text, rolloutId);
  return unpacked(() => unpackEnded(ended, target, takeoverMs));
}

/** Parses a ledger object. Throws if the object is missing or belongs to another rollout. */
function counted<T extends OtherShard>(name: string, text: string | undefined, rolloutId: string): T {
  if (text === undefined) throw unreadable(`the ledger object ${name} is missing`);
  const shard = parse<T>(text);
  if (shard.rolloutId === rolloutId) return shard;
  throw unreadable(`the ledger object ${name} belongs to rollout ${shard.rolloutId}, not to ${rolloutId}`);
}

/**
 * Calls `unpack`. If `unpack` throws, the stored ledger is damaged, and this function throws the error for an
 * unreadable ledger.
 */
function unpacked<T>(unpack: () => T): T {
  try {
    return unpack();
  } catch (cause) {
    throw unreadable('a ledger object does not have the expected format', cause);
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
    throw unreadable('a ledger object is not JSON', cause);
  }
  if (parsed?.format === ledgerFormat) return parsed;
  const isOlder = parsed?.format < ledgerFormat;
  const remedy = isOlder
    ? 'Wait until no upgrade is running, and then delete the ledger. logfleet then begins a new rollout.'
    : undefined;
  throw unreadable(
    `the ledger has format ${parsed?.format}, but this version of logfleet reads format ${ledgerFormat}`,
    undefined,
    remedy,
  );
}

function unreadable(
  why: string,
  cause?: unknown,
  remedy = 'Restore the ledger from a backup, or delete it when no upgrade is running.',
): LogfleetError {
  return failure('stall', 'ledger.unreadable', `The ledger of upgrade attempts cannot be read: ${why}. ${remedy}`, {
    reason: 'LedgerUnreadable',
    cause,
  });
}

function packEntry(entry: Entry, target: string): PackedEntry {
  const { collectorId, before, used, drifts, ending, counted, isRollback, failureCleared } = entry;
  const rest = trimmed<PackedRest>([
    counted?.tally ?? null,
    counted?.stage ?? null,
    isRollback ? 1 : null,
    failureCleared ? 1 : null,
  ]);
  const packedEnding = ending ? packEnding(ending, target) : null;
  return trimmed([collectorId, before ?? null, used, drifts, packedEnding, rest.length > 0 ? rest : null]);
}

function packEnding(ending: Ending, target: string): PackedEnding {
  const { kind, toVersion, taskId, message, startedAtMs, endedAtMs, lastSeenAliveMs } = ending;
  const start = [endingKinds.indexOf(kind), seconds(endedAtMs)] as const;
  const other = toVersion === target ? null : toVersion;
  if (kind === 'updated' && other === null) return [...start];
  return trimmed([...start, taskId ?? null, message, seconds(startedAtMs), lastSeenAliveMs ?? null, other]);
}

/** Removes absent values from the end of an array. */
function trimmed<T extends unknown[]>(packed: T): T {
  return packed.slice(0, packed.findLastIndex((value) => value !== null) + 1) as T;
}

function unpackEnded(
  ended: readonly (PackedEntry | PackedRemoval)[],
  target: string,
  takeoverMs: number,
): readonly EntryChange[] {
  return ended.map((packed) => {
    if (typeof packed === 'string') return { collectorId: packed, entry: undefined };
    return { collectorId: packed[0], entry: unpackEntry(packed, target, takeoverMs) };
  });
}

function unpackEntry(packed: PackedEntry, target: string, takeoverMs: number): Entry {
  const [collectorId, before, used, drifts, ending, rest] = packed;
  const [tally, stage, isRollback, failureCleared] = rest ?? [];
  return {
    collectorId,
    before: before ?? undefined,
    used,
    drifts,
    ...(typeof tally === 'number' && { counted: { tally, stage: stage ?? undefined } }),
    ...(failureCleared === 1 && { failureCleared: true }),
    isRollback: isRollback === 1,
    open: undefined,
    ending: ending ? unpackEnding(ending, target, takeoverMs) : undefined,
  };
}

function unpackEnding(packed: PackedEnding, target: string, takeoverMs: number): Ending {
  const [kind, ended, taskId, message, started, lastSeenAliveMs, toVersion] = packed;
  return {
    kind: nameAt(endingKinds, kind),
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
    state: nameAt(attemptStates, state),
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
