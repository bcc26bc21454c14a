/**
 * Commit record: a small object that lists the data files of one interval (the time range of one search) and the numbers of rows that prove
 * these files complete (E6). A commit record is never overwritten (E3).
 *
 * A segment (a planned part of the export's time range) is searched from its end backwards, one interval after another. The name of a
 * commit record contains only the segment's number and the interval's end, so if two processes search the same interval, only one of them
 * can write its commit record.
 */
import { assert } from '../base/assert.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Destination } from './destination.ts';
import { disappeared } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { nameProblem } from './object-name.ts';
import { sliceSummary, weightedSums } from './slice-figures.ts';
import {
  checked,
  choice,
  damaged,
  instant,
  integer,
  list,
  moment,
  object,
  optional,
  type Stored,
  StoredKind,
  text,
  trueOrAbsent,
} from './stored-json.ts';

/** Maximum number of data files that one interval may have. */
export const maxFiles = 10_000;
const readsAtOnce = 16;

const committedFile = object({
  /** Name of the file relative to the export's folder. It begins with `data/`. */
  name: text(),
  rows: integer(),
  /** Size of the file as stored, after compression. */
  bytes: integer(),
  /** Size of the file in bytes before compression. */
  encodedBytes: integer(),
  /** Number of values that do not have the type of their column and are therefore stored in the extra column. */
  misfits: integer(),
  /** SHA-256 of the stored file, in hexadecimal digits. */
  sha256: text(/^[0-9a-f]{64}$/),
});
export type CommittedFile = Stored<typeof committedFile>;

/** Kind of request that told logfleet how many rows the interval must have (E6). */
const countSource = choice(['Job', 'Aggregate', 'Histogram']);
export type CountSource = Stored<typeof countSource>;

/** Total size and time range of the written messages. logfleet compares these values with an aggregation of the service (E6). */
export const messageFigures = {
  /** Sum of the messages' sizes (`_size`) in bytes. Absent if a message has no size. */
  bytes: optional(integer()),
  /** Smallest and largest `_messagetime` in milliseconds since the epoch. Absent if no message was written. */
  oldestMs: optional(instant),
  newestMs: optional(instant),
};
const figures = object(messageFigures);
export type MessageFigures = Stored<typeof figures>;

/**
 * Returns the total size, the earliest time and the latest time of several groups of messages. The total size is absent if the size of a
 * group is unknown.
 */
export function sumOfFigures(all: readonly MessageFigures[]): MessageFigures {
  let bytes = 0;
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { bytes: more = Number.NaN, oldestMs = oldest, newestMs = newest } of all) {
    bytes += more;
    oldest = Math.min(oldest, oldestMs);
    newest = Math.max(newest, newestMs);
  }
  return {
    ...(Number.isNaN(bytes) ? {} : { bytes }),
    ...(Number.isFinite(oldest) ? { oldestMs: oldest, newestMs: newest } : {}),
  };
}

/** A message that the service returned several times with the same bytes. Exported files contain it once (E9). */
const repeatedMessage = object({
  id: text(/^-?\d{1,19}$/),
  /** `_messagetime` in milliseconds since the epoch. */
  atMs: instant,
  /** Size of the message in bytes (`_size`). Absent if the message has none. */
  bytes: optional(integer()),
  /** Number of received copies of the message in addition to the first one. */
  times: integer(1),
});
export type RepeatedMessage = Stored<typeof repeatedMessage>;

/** Maximum number of repeated messages that a commit record lists. If there are more, the record lists none of them. */
export const maxRepeatedMessages = 100;

const recordForm = object({
  segment: integer(),
  /** Start (included) and end (excluded) of the interval in milliseconds since the epoch. */
  fromMs: moment,
  toMs: moment,
  /** Number of rows that the search of the interval received, including rows that were not written. */
  received: integer(),
  written: integer(),
  /** Number of received rows whose time is outside the interval (E10). These rows are not written. */
  outside: integer(),
  /** Number of received rows that repeat an earlier row (E9). These rows are not written again. */
  duplicates: integer(),
  /**
   * Number of received rows that are not written but left to the next search. The service cut this search short, so other rows of the same
   * milliseconds may be missing (E4).
   */
  left: integer(),
  count: object({ rows: integer(), source: countSource }),
  files: list(checked(committedFile, fileProblem)),
  /** Total size and time range of the messages in the interval. Absent if the rows are records of an aggregation. */
  figures: optional(figures),
  /** Numbers, sizes and times of messages for each short period of message time. Absent for searches by receipt time. */
  slices: optional(sliceSummary),
  /** Weighted sums of the same values for searches by receipt time. Absent for other searches. */
  sliceSums: optional(weightedSums),
  /** Messages that were received more than once. Absent if there are none, or too many to list. */
  repeated: optional(list(repeatedMessage)),
  /** True if the service returned a row at the end of a requested time range, although the end should be excluded (E10). */
  endInclusive: trueOrAbsent,
  /** Reason why the interval may lack rows. Present only if `incompletePolicy` is `Keep`. */
  incomplete: optional(object({ reason: text() })),
});
export type CommitRecord = Stored<typeof recordForm>;

/** Form of a commit record as it is stored. The manifest stores intervals in the same form. */
export const commitRecord = checked(recordForm, recordProblem);

export const recordKind: StoredKind<CommitRecord> = new StoredKind({
  kind: 'logfleet.dev/export-commit',
  form: commitRecord,
  advice: 'restore the original commit record, or remove it to search its interval again',
});

/** Returns a key that identifies a commit record within its export (E3). */
export function recordKey({ segment, toMs }: Pick<CommitRecord, 'segment' | 'toMs'>): string {
  return `${segment} ${toMs}`;
}

export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Another process has already written this commit record, so this process removes its own files of the interval. */
  | { readonly kind: 'taken'; readonly existing: CommitRecord };

/** Writes a commit record, or returns the one that another process has written. A failed call can be repeated. */
export async function commit(
  destination: Destination,
  layout: ExportLayout,
  record: CommitRecord,
): Promise<CommitOutcome> {
  const problem = recordProblem(record);
  const name = layout.commit(record.segment, record.toMs);
  assert(problem === undefined, `${name}: ${problem}`);
  const existing = await recordKind.settle(destination, name, record);
  if (existing === record) return { kind: 'committed' };
  const kept = new Set(existing.files.map((file) => file.name));
  for (const file of record.files) if (!kept.has(file.name)) await destination.remove(layout.within(file.name));
  return { kind: 'taken', existing };
}

/**
 * Reads all commit records of an export, in no particular order. Returns the records in `known` without reading them again, because records
 * never change. Calls `onDamaged` for an invalid record; without `onDamaged`, throws `destination.damaged`.
 */
export async function readRecords(
  destination: Destination,
  layout: ExportLayout,
  known: readonly CommitRecord[] = [],
  onDamaged?: (name: string, error: LogfleetError) => void,
): Promise<readonly CommitRecord[]> {
  const knownByName = new Map(known.map((record) => [layout.commit(record.segment, record.toMs), record]));
  const records: CommitRecord[] = [];
  const names: string[] = [];
  for await (const { name } of destination.list(layout.commits)) {
    const record = knownByName.get(name);
    knownByName.delete(name);
    if (record) records.push(record);
    else names.push(name);
  }
  for (const [name, record] of knownByName) if (await destination.read(name)) records.push(record);
  for (let start = 0; start < names.length; start += readsAtOnce) {
    const batch = names.slice(start, start + readsAtOnce);
    const found = await Promise.all(batch.map((name) => readUnlessDamaged(name)));
    records.push(...found.filter((record) => record !== undefined));
  }
  return records;

  async function readUnlessDamaged(name: string): Promise<CommitRecord | undefined> {
    try {
      return await readRecord(destination, layout, name);
    } catch (error) {
      const isDamaged = error instanceof LogfleetError && error.code === 'destination.damaged';
      if (!isDamaged || !onDamaged) throw error;
      onDamaged(name, error);
      return undefined;
    }
  }
}

async function readRecord(destination: Destination, layout: ExportLayout, name: string): Promise<CommitRecord> {
  if (!layout.isCommit(name)) throw damaged({ name, advice: 'remove it' }, 'no commit record can have this name');
  const record = await recordKind.read(destination, name);
  if (!record) throw disappeared(name, destination.url);
  if (layout.commit(record.segment, record.toMs) === name) return record;
  throw damaged({ name, advice: 'remove it' }, `it belongs to ${layout.commit(record.segment, record.toMs)}`);
}

function fileProblem({ name }: CommittedFile): string | undefined {
  const problem = nameProblem(name);
  if (problem !== undefined) return `/name: ${problem}`;
  return name.startsWith('data/') ? undefined : '/name does not lie in data/';
}

/** Returns the first contradiction between the numbers in a commit record (E6), or undefined if there is none. */
function recordProblem(record: CommitRecord): string | undefined {
  const { fromMs, toMs, received, written, outside, duplicates, left, count, files, incomplete } = record;
  if (fromMs >= toMs)
    return `the interval of the commit record ends at ${toMs}, which is not after its start, ${fromMs}`;
  if (files.length > maxFiles) return `the commit record has more than ${maxFiles} files`;
  if (new Set(files.map(({ name }) => name)).size < files.length) return 'the commit record names a file twice';
  const inFiles = files.reduce((sum, { rows }) => sum + rows, 0);
  if (inFiles !== written)
    return `the files of the commit record have ${inFiles} rows, but the record says that ${written} were written`;
  const { repeated = [] } = record;
  if (repeated.length > maxRepeatedMessages)
    return `the commit record lists more than ${maxRepeatedMessages} repeated messages`;
  const accounted = written + outside + duplicates + left;
  if (accounted !== received)
    return `the commit record says that ${received} rows were received, but its written and omitted rows are ${accounted}`;
  if ((record.slices?.shared.length ?? 0) > 2)
    return 'an interval shares at most two short periods with neighbouring intervals, but the commit record lists more';
  if (incomplete) return undefined;
  if (count.source === 'Job') {
    if (count.rows === received) return undefined;
    return `the commit record says that the service counted ${count.rows} rows, but ${received} were received`;
  }
  // The service may have counted duplicate rows, although logfleet writes each of them only once.
  if (count.rows >= written && count.rows <= written + duplicates) return undefined;
  return `the commit record says that the service counted ${count.rows} rows, but ${written} were written`;
}
