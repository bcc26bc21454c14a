/**
 * A commit record lists the data files of one searched time range (an interval) with their row counts (E6). Commit
 * records are never overwritten (E3). All processes use the same name for the commit record of an interval. If two
 * processes search the same interval, only one of them can write the record.
 */
import { assert } from '../base/assert.ts';
import { hasCode, type LogfleetError } from '../base/errors.ts';
import type { ExportLayout } from './export-layout.ts';
import { sliceSummary, weightedSums } from './slice-figures.ts';
import type { Destination } from './store/destination.ts';
import { disappeared } from './store/destination-error.ts';
import { nameProblem } from './store/object-name.ts';
import {
  checked,
  choice,
  damaged,
  integer,
  list,
  moment,
  object,
  optional,
  type Stored,
  StoredKind,
  storedText,
  timestampMs,
  trueOrAbsent,
} from './stored-json.ts';

/** Maximum number of data files per interval. */
export const maxFiles = 10_000;
const readsAtOnce = 16;

const committedFile = object({
  /** File name relative to the export's folder. It begins with `data/`. */
  name: storedText(),
  rows: integer(),
  /** Size of the stored file in bytes, after compression. */
  bytes: integer(),
  /** Size of the file in bytes before compression. */
  encodedBytes: integer(),
  /** Number of values that do not match the type of their column. The file stores these values in its extra column. */
  misfits: integer(),
  /** SHA-256 of the file in hexadecimal. */
  sha256: storedText(/^[0-9a-f]{64}$/),
});
export type CommittedFile = Stored<typeof committedFile>;

/**
 * Where the row count of an interval comes from: the search job, an aggregation or a histogram. This count confirms
 * that the interval is complete (E6).
 */
const countSource = choice(['Job', 'Aggregate', 'Histogram']);
export type CountSource = Stored<typeof countSource>;

/** Total size and time range of the written messages (E6). */
export const messageFigures = {
  /**
   * Sum of the message sizes (`_size`) in bytes. Absent if any message has no size, or if the sum is too large to be
   * exact.
   */
  bytes: optional(integer()),
  /** Smallest and largest `_messagetime` in ms since the epoch. Absent if no message was written. */
  oldestMs: optional(timestampMs),
  newestMs: optional(timestampMs),
};
const figures = object(messageFigures);
export type MessageFigures = Stored<typeof figures>;

/** Adds up the message sizes of several groups of messages, and merges the groups' time ranges. */
export function sumOfFigures(all: readonly MessageFigures[]): MessageFigures {
  let bytes = 0;
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { bytes: more = Number.NaN, oldestMs = oldest, newestMs = newest } of all) {
    bytes += more;
    oldest = Math.min(oldest, oldestMs);
    newest = Math.max(newest, newestMs);
  }
  return {
    ...(Number.isSafeInteger(bytes) ? { bytes } : {}),
    ...(Number.isFinite(oldest) ? { oldestMs: oldest, newestMs: newest } : {}),
  };
}

/** A message that the service returned more than once. logfleet writes it only once (E9). */
const repeatedMessage = object({
  id: storedText(/^-?\d{1,19}$/),
  /** `_messagetime` in milliseconds since the epoch. */
  atMs: timestampMs,
  /** Size of the message (`_size`) in bytes. Absent if unknown. */
  bytes: optional(integer()),
  /** Number of extra copies that the service returned. */
  times: integer(1),
});
export type RepeatedMessage = Stored<typeof repeatedMessage>;

/** Maximum number of repeated messages that a commit record can list. If there are more, the record lists none. */
export const maxRepeatedMessages = 100;

const recordForm = object({
  segment: integer(),
  /** Start (inclusive) and end (exclusive) of the interval in ms since the epoch. */
  fromMs: moment,
  toMs: moment,
  /** Number of rows that the search returned. */
  received: integer(),
  written: integer(),
  /** Number of rows whose time is outside the interval (E10). These rows are not written. */
  outside: integer(),
  /** Number of duplicate rows (E9). Duplicates are not written. */
  duplicates: integer(),
  /**
   * Number of rows that were received but not written, because the service cut the search short (E4). The next search
   * returns these rows again.
   */
  left: integer(),
  count: object({ rows: integer(), source: countSource }),
  files: list(checked(committedFile, fileProblem)),
  /** Total size and time range of the messages. Absent for aggregation records. */
  figures: optional(figures),
  /** Message counts, sizes and times for each short period. Absent for searches by receipt time. */
  slices: optional(sliceSummary),
  /**
   * Weighted sums of message counts, sizes and times (see slice-figures.ts). Present only for searches by receipt time.
   */
  sliceSums: optional(weightedSums),
  /** Messages that were received more than once. Absent if there are none, or too many to list. */
  repeated: optional(list(repeatedMessage)),
  /** True if the search also returned rows at the exact end of its time range, although the end is exclusive (E10). */
  endInclusive: trueOrAbsent,
  /** Reason why rows may be missing. Present only if `incompletePolicy` is `Keep`. */
  incomplete: optional(object({ reason: storedText() })),
});
export type CommitRecord = Stored<typeof recordForm>;

/** Stored form of a commit record. */
export const commitRecord = checked(recordForm, recordProblem);

export const recordKind: StoredKind<CommitRecord> = new StoredKind({
  kind: 'logfleet.dev/export-commit',
  form: commitRecord,
  advice: 'restore the original commit record, or remove the record to search its interval again',
});

/** Returns a key that is unique for each commit record of an export (E3). */
export function recordKey({ segment, toMs }: Pick<CommitRecord, 'segment' | 'toMs'>): string {
  return `${segment} ${toMs}`;
}

export type CommitResult =
  | { readonly kind: 'committed' }
  /** Another process has already written this commit record. */
  | { readonly kind: 'taken'; readonly existing: CommitRecord };

/**
 * Writes a commit record. If a record already exists, returns the existing record, and removes the caller's data files,
 * except those that the existing record lists. The call can be retried after an error.
 */
export async function commit(
  destination: Destination,
  layout: ExportLayout,
  record: CommitRecord,
): Promise<CommitResult> {
  const problem = recordProblem(record);
  const name = layout.commit(record.segment, record.toMs);
  assert(problem === undefined, `${name}: ${problem}`);
  const existing = await recordKind.storeOnce(destination, name, record);
  if (existing === record) return { kind: 'committed' };
  const kept = new Set(existing.files.map((file) => file.name));
  for (const file of record.files) if (!kept.has(file.name)) await destination.remove(layout.within(file.name));
  return { kind: 'taken', existing };
}

/**
 * Returns all commit records of an export. Records in `known` are not read again, but are left out if they no longer
 * exist. If a record is invalid, calls `onDamaged`. Without `onDamaged`, throws the error `destination.damaged`.
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
      const isDamaged = hasCode(error, 'destination.damaged');
      if (!isDamaged || !onDamaged) throw error;
      onDamaged(name, error);
      return undefined;
    }
  }
}

async function readRecord(destination: Destination, layout: ExportLayout, name: string): Promise<CommitRecord> {
  if (!layout.isCommit(name))
    throw damaged({ name, advice: 'remove it' }, 'this is not a valid name for a commit record');
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

/** Returns the first contradiction among the numbers in a commit record (E6), or undefined if there is none. */
function recordProblem(record: CommitRecord): string | undefined {
  const { fromMs, toMs, received, written, outside, duplicates, left, count, files, incomplete } = record;
  if (fromMs >= toMs)
    return `the interval of the commit record ends at ${toMs}, which is not after its start, ${fromMs}`;
  if (files.length > maxFiles) return `the commit record has more than ${maxFiles} files`;
  if (new Set(files.map(({ name }) => name)).size < files.length) return 'the commit record lists the same file twice';
  const inFiles = files.reduce((sum, { rows }) => sum + rows, 0);
  if (inFiles !== written)
    return `the files in the commit record have ${inFiles} rows, but the record says that ${written} were written`;
  const { repeated = [] } = record;
  if (repeated.length > maxRepeatedMessages)
    return `the commit record lists more than ${maxRepeatedMessages} repeated messages`;
  const accounted = written + outside + duplicates + left;
  if (accounted !== received)
    return `the commit record says that ${received} rows were received, but lists ${accounted} written and omitted rows`;
  if ((record.slices?.shared.length ?? 0) > 2)
    return 'the commit record lists more than two short periods that its interval shares with neighbouring intervals';
  if (incomplete) return undefined;
  if (count.source === 'Job') {
    if (count.rows === received) return undefined;
    return `the commit record says that the service counted ${count.rows} rows, but ${received} rows were received`;
  }
  // If the service stores a row twice, its count may include both copies, but logfleet writes only one of them.
  // Therefore, the service's count may exceed the number of written rows by at most the number of duplicates.
  if (count.rows >= written && count.rows <= written + duplicates) return undefined;
  return `the commit record says that the service counted ${count.rows} rows, but ${written} rows were written`;
}
