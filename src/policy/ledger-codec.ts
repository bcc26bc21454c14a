/**
 * The ledger as text. The `head` shard holds the header, all open attempts and what ended lately; `log` shards hold what ended
 * before, are written once, and stay as they are until the next rollout. Lines are packed, since there may be one for each
 * collector of a large fleet.
 *
 * What is on our own monotonic clock is not kept: a process that reads a ledger counts all ages from then on (U5), and
 * takes what was written ahead for sent with an unknown outcome.
 */
import { LogfleetError } from '../base/errors.ts';
import type { Attempt, AttemptState, Ending, EndingKind, Entry, LedgerHeader } from './ledger.ts';

const formatVersion = 1;

const endingKinds = ['updated', 'failed', 'timedOut', 'refused', 'offline', 'invalid', 'unobservable'] as const;
const attemptStates = ['intended', 'accepted', 'unknown', 'adopted'] as const;

// The compiler refuses a kind or state that the lists leave out.
type Missing = Exclude<EndingKind, (typeof endingKinds)[number]> | Exclude<AttemptState, (typeof attemptStates)[number]>;
const nothingMissing: Missing extends never ? true : never = true;
void nothingMissing;

/** kind, end (s), target, task id, message, start (s), last sign of life (ms); an `updated` one keeps the first three. */
type PackedEnding = [number, number, number, (string | null)?, (number | null)?, number?, (number | null)?];
/** collector, version before, attempts used, drifts, ending */
type PackedEntry = [string, number | null, number, number, (PackedEnding | null)?];
/** number, target, state, task id, ours, probe, start (ms) */
type PackedAttempt = [number, number, number, string | null, 0 | 1, 0 | 1, number];

interface Head {
  readonly format: number;
  readonly header: LedgerHeader;
  /** How many log shards belong to this rollout. */
  readonly logs: number;
  readonly strings: readonly string[];
  readonly open: readonly (readonly [PackedEntry, PackedAttempt])[];
  readonly ended: readonly PackedEntry[];
  /** Collectors with a line in a log shard that were forgotten since. */
  readonly forgotten: readonly string[];
}

interface Log {
  readonly format: number;
  readonly rolloutId: string;
  readonly strings: readonly string[];
  readonly ended: readonly PackedEntry[];
}

export interface DecodedHead {
  readonly header: LedgerHeader;
  readonly logs: number;
  readonly entries: readonly Entry[];
  readonly forgotten: readonly string[];
}

export function encodeHead(
  header: LedgerHeader,
  logs: number,
  open: Iterable<Entry>,
  ended: Iterable<Entry>,
  forgotten: Iterable<string>,
): string {
  const strings = new Strings();
  const head: Head = {
    format: formatVersion,
    header,
    logs,
    open: [...open].map((entry) => [packEntry(entry, strings), packAttempt(entry.open as Attempt, strings)] as const),
    ended: [...ended].map((entry) => packEntry(entry, strings)),
    forgotten: [...forgotten],
    strings: strings.list,
  };
  return JSON.stringify(head);
}

export function encodeLog(rolloutId: string, ended: Iterable<Entry>): string {
  const strings = new Strings();
  const log: Log = {
    format: formatVersion,
    rolloutId,
    ended: [...ended].map((entry) => packEntry(entry, strings)),
    strings: strings.list,
  };
  return JSON.stringify(log);
}

/** @param takeoverMs monotonic time from which all ages of this process count */
export function decodeHead(text: string, takeoverMs: number): DecodedHead {
  const head = parse<Head>(text);
  const open = head.open.map(([packed, attempt]): Entry => {
    const entry = unpackEntry(packed, head.strings, takeoverMs);
    return { ...entry, open: unpackAttempt(attempt, head.strings, takeoverMs) };
  });
  const ended = head.ended.map((packed) => unpackEntry(packed, head.strings, takeoverMs));
  return { header: head.header, logs: head.logs, entries: [...ended, ...open], forgotten: head.forgotten };
}

/** The entries of a log shard; none where it belongs to another rollout. */
export function decodeLog(text: string, rolloutId: string, takeoverMs: number): readonly Entry[] {
  const log = parse<Log>(text);
  if (log.rolloutId !== rolloutId) return [];
  return log.ended.map((packed) => unpackEntry(packed, log.strings, takeoverMs));
}

function parse<T extends { readonly format: number }>(text: string): T {
  let parsed: T;
  try {
    parsed = JSON.parse(text) as T;
  } catch (cause) {
    throw unreadable('it is no JSON', cause);
  }
  if (parsed?.format !== formatVersion) throw unreadable(`its format is ${parsed?.format}, this version reads ${formatVersion}`);
  return parsed;
}

function unreadable(why: string, cause?: unknown): LogfleetError {
  return new LogfleetError({
    code: 'ledger.unreadable',
    reason: 'LedgerUnreadable',
    message: `The ledger of upgrade attempts cannot be read: ${why}. Restore it, or delete it once no upgrade is running.`,
    handling: { kind: 'stall' },
    cause,
  });
}

class Strings {
  readonly list: string[] = [];
  readonly #places = new Map<string, number>();

  place(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.list.length);
    return this.list.push(text) - 1;
  }
}

function packEntry({ collectorId, before, used, drifts, ending }: Entry, strings: Strings): PackedEntry {
  const start = [collectorId, before === undefined ? null : strings.place(before), used, drifts] as const;
  return ending ? [...start, packEnding(ending, strings)] : [...start];
}

function packEnding(ending: Ending, strings: Strings): PackedEnding {
  const kind = endingKinds.indexOf(ending.kind);
  const ended = seconds(ending.endedAtMs);
  const target = strings.place(ending.toVersion);
  if (ending.kind === 'updated') return [kind, ended, target];
  const message = ending.message === '' ? null : strings.place(ending.message);
  return [kind, ended, target, ending.taskId ?? null, message, seconds(ending.startedAtMs), ending.lastSeenAliveMs ?? null];
}

function unpackEntry(packed: PackedEntry, strings: readonly string[], takeoverMs: number): Entry {
  const [collectorId, before, used, drifts, ending] = packed;
  return {
    collectorId,
    before: before === null ? undefined : strings[before],
    used,
    drifts,
    open: undefined,
    ending: ending ? unpackEnding(ending, strings, takeoverMs) : undefined,
  };
}

function unpackEnding(packed: PackedEnding, strings: readonly string[], takeoverMs: number): Ending {
  const [kind, ended, target, taskId, message, started, lastSeenAliveMs] = packed;
  return {
    kind: endingKinds[kind] as EndingKind,
    toVersion: strings[target] as string,
    taskId: taskId ?? undefined,
    message: message === undefined || message === null ? '' : (strings[message] as string),
    startedAtMs: (started ?? ended) * 1_000,
    endedAtMs: ended * 1_000,
    sinceMs: takeoverMs,
    lastSeenAliveMs: lastSeenAliveMs ?? undefined,
  };
}

function packAttempt(open: Attempt, strings: Strings): PackedAttempt {
  const state = attemptStates.indexOf(open.state);
  const task = open.taskId ?? null;
  return [open.number, strings.place(open.toVersion), state, task, open.ours ? 1 : 0, open.probe ? 1 : 0, open.startedAtMs];
}

function unpackAttempt(packed: PackedAttempt, strings: readonly string[], takeoverMs: number): Attempt {
  const [number, toVersion, state, taskId, ours, probe, startedAtMs] = packed;
  return {
    number,
    toVersion: strings[toVersion] as string,
    state: attemptStates[state] as AttemptState,
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
