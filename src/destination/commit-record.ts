/**
 * What commits an interval: a small record, written unless there is one (E3). It names the files that count and the figures that
 * prove them (E6).
 *
 * Invariant: records of a segment are written from its end downwards, each from where the one before began. A record is keyed by
 * segment and upper bound alone, so that of two who search the same, whatever each of them found or cut, one is first.
 */
import { assert } from '../base/assert.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Destination } from './destination.ts';
import { goneAgain } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { nameProblem } from './object-name.ts';
import { readSummary, type SliceSummary } from './slice-figures.ts';
import { damaged, decodeStored, encodeStored, type StoredMembers } from './stored-json.ts';

/** Of one interval. */
export const maxFiles = 10_000;
const readsAtOnce = 16;
const recordAdvice = 'put back what stood there, or remove it: its interval is searched again';

export interface CommittedFile {
  /** From the export's folder: `data/…`. */
  readonly name: string;
  readonly rows: number;
  /** As they lie there, compressed where that is asked for. */
  readonly bytes: number;
  /** Before compression. */
  readonly encodedBytes: number;
  /** Values that are not what their column holds, and were written as they could be. */
  readonly misfits: number;
  /** Of what lies there, in hexadecimal digits. */
  readonly sha256: string;
}

/** Where the number of rows came from that there had to be (E6). */
export type CountSource = 'Job' | 'Aggregate' | 'Histogram';

/** What the messages that were written add up to. An aggregation of the service has the same figures (E6). */
export interface MessageFigures {
  /** Sum of `_size`; absent where a message has none. */
  readonly bytes?: number;
  /** Of `_messagetime`, in milliseconds since the epoch; absent where no message was written. */
  readonly oldestMs?: number;
  readonly newestMs?: number;
}

/** What several lists of messages add up to together. */
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

/** A message that the pages had more than once, with the same bytes; it was written once (E9). */
export interface RepeatedMessage {
  readonly id: string;
  /** `_messagetime`, in milliseconds since the epoch. */
  readonly atMs: number;
  /** `_size`; absent where the message has none. */
  readonly bytes?: number;
  /** How often it came again. */
  readonly times: number;
}

/** So many different messages that came again are named in a record at most. */
export const maxRepeatedMessages = 100;

export interface CommitRecord {
  readonly segment: number;
  /** `[fromMs, toMs)` in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Rows that the service gave for it. */
  readonly received: number;
  readonly written: number;
  /** Rows that lay outside the interval (E10). */
  readonly outside: number;
  /** Rows that came again (E9). */
  readonly duplicates: number;
  /** Rows of the cut's millisecond, which the next interval has again (E4). */
  readonly left: number;
  readonly count: { readonly rows: number; readonly source: CountSource };
  readonly files: readonly CommittedFile[];
  /** Absent where records of an aggregation were written. */
  readonly figures?: MessageFigures;
  /** The same figures by slices of time; absent of searches by receipt time, which do not bound the slices of an interval. */
  readonly slices?: SliceSummary;
  /** Of those that were written; absent where no row came again, and where more did than a record names. */
  readonly repeated?: readonly RepeatedMessage[];
  /** The service takes the end of a range for a part of it (E10): true, or absent where nothing has shown it. */
  readonly endInclusive?: true;
  /** Only with `incompletePolicy: Keep`: why the figures do not prove it. */
  readonly incomplete?: { readonly reason: string };
}

/** Of the record of an interval: no two of an export have the same segment and end (E3). */
export function recordKey({ segment, toMs }: Pick<CommitRecord, 'segment' | 'toMs'>): string {
  return `${segment} ${toMs}`;
}

export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Somebody was first: theirs counts, our files are gone, and work goes on from its `fromMs`. */
  | { readonly kind: 'taken'; readonly standing: CommitRecord };

/** Writes a record, or takes over the one that stands there. Doing it again is fine, also when it is not known what came of it. */
export async function commit(
  destination: Destination,
  layout: ExportLayout,
  record: CommitRecord,
): Promise<CommitOutcome> {
  const problem = recordProblem(record);
  const name = layout.commit(record.segment, record.toMs);
  assert(problem === undefined, `${name}: ${problem}`);
  const content = encodeRecord(record);
  if ((await destination.create(name, content)) === 'created') return { kind: 'committed' };
  const found = await destination.read(name);
  if (!found) throw goneAgain(name, destination.url);
  if (Buffer.compare(found, content) === 0) return { kind: 'committed' };
  const standing = decodeRecord(name, found);
  const kept = new Set(standing.files.map((file) => file.name));
  for (const file of record.files) if (!kept.has(file.name)) await destination.remove(layout.within(file.name));
  return { kind: 'taken', standing };
}

/**
 * All that stand there, in no order. Those that are `known` are not decoded again: what stands there stays as it is. One that is known
 * and not listed may be there all the same, since stores may list late what can be read. `destination.damaged` when one is not as
 * it has to be, unless there is somebody to be told of it.
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
  if (!layout.isCommit(name)) throw damaged({ name, advice: 'remove it' }, 'no record is called so');
  const content = await destination.read(name);
  if (!content) throw goneAgain(name, destination.url);
  const record = decodeRecord(name, content);
  if (layout.commit(record.segment, record.toMs) === name) return record;
  throw damaged({ name, advice: 'remove it' }, `it belongs to ${layout.commit(record.segment, record.toMs)}`);
}

export function encodeRecord(record: CommitRecord): Uint8Array {
  return encodeStored({ kind: 'logfleet.dev/export-commit', version: 1, ...record });
}

export function decodeRecord(name: string, content: Uint8Array): CommitRecord {
  return decodeStored({ name, advice: recordAdvice }, content, (members) => {
    members.form('logfleet.dev/export-commit');
    return readRecordMembers(members);
  });
}

/** Also of the entries of a manifest, which have the same form. */
export function readRecordMembers(members: StoredMembers): CommitRecord {
  const incomplete = members.optionalObject('incomplete', (inner) => ({ reason: inner.text('reason') }));
  const figures = members.optionalObject('figures', readFigures);
  const slices = members.optionalObject('slices', readSummary);
  const repeated = members.optionalObjects('repeated', readRepeated);
  const isEndInclusive = members.optionalTrue('endInclusive');
  const record: CommitRecord = {
    segment: members.integer('segment'),
    fromMs: members.moment('fromMs'),
    toMs: members.moment('toMs'),
    received: members.integer('received'),
    written: members.integer('written'),
    outside: members.integer('outside'),
    duplicates: members.integer('duplicates'),
    left: members.integer('left'),
    count: members.object('count', (count) => ({
      rows: count.integer('rows'),
      source: count.choice('source', ['Job', 'Aggregate', 'Histogram']),
    })),
    files: members.objects('files', readFile),
    ...(figures === undefined ? {} : { figures }),
    ...(slices === undefined ? {} : { slices }),
    ...(repeated === undefined ? {} : { repeated }),
    ...(isEndInclusive ? { endInclusive: true } : {}),
    ...(incomplete === undefined ? {} : { incomplete }),
  };
  const problem = recordProblem(record);
  if (problem !== undefined) throw members.wrong(problem);
  return record;
}

/** Also of the ranges of a proof, which have the same members. */
export function readFigures(members: StoredMembers): MessageFigures {
  const bytes = members.optionalInteger('bytes');
  const oldestMs = members.optionalInstant('oldestMs');
  const newestMs = members.optionalInstant('newestMs');
  return {
    ...(bytes === undefined ? {} : { bytes }),
    ...(oldestMs === undefined ? {} : { oldestMs }),
    ...(newestMs === undefined ? {} : { newestMs }),
  };
}

function readRepeated(members: StoredMembers): RepeatedMessage {
  const bytes = members.optionalInteger('bytes');
  return {
    id: members.text('id', /^-?\d{1,19}$/),
    atMs: members.instant('atMs'),
    ...(bytes === undefined ? {} : { bytes }),
    times: members.integer('times', 1),
  };
}

function readFile(members: StoredMembers): CommittedFile {
  const file = {
    name: members.text('name'),
    rows: members.integer('rows'),
    bytes: members.integer('bytes'),
    encodedBytes: members.integer('encodedBytes'),
    misfits: members.integer('misfits'),
    sha256: members.text('sha256', /^[0-9a-f]{64}$/),
  };
  const problem = nameProblem(file.name);
  if (problem !== undefined) throw members.wrong(`/name: ${problem}`);
  if (!file.name.startsWith('data/')) throw members.wrong('/name does not lie in data/');
  return file;
}

/** What figures contradict each other; undefined when none do (E6). */
function recordProblem(record: CommitRecord): string | undefined {
  const { fromMs, toMs, received, written, outside, duplicates, left, count, files, incomplete } = record;
  if (fromMs >= toMs) return `it ends at ${toMs}, which is not after its begin, ${fromMs}`;
  if (files.length > maxFiles) return `it has more than ${maxFiles} files`;
  if (new Set(files.map(({ name }) => name)).size < files.length) return 'it names a file twice';
  const inFiles = files.reduce((sum, { rows }) => sum + rows, 0);
  if (inFiles !== written) return `its files have ${inFiles} rows, and ${written} were written`;
  const { repeated = [] } = record;
  if (repeated.length > maxRepeatedMessages)
    return `it names more than ${maxRepeatedMessages} messages that came again`;
  const accounted = written + outside + duplicates + left;
  if (accounted !== received) return `${received} rows were received, and ${accounted} are accounted for`;
  if ((record.slices?.shared.length ?? 0) > 2) return 'it shares more than two slices with its neighbours';
  if (incomplete) return undefined;
  if (count.source === 'Job') {
    if (count.rows === received) return undefined;
    return `the service counts ${count.rows} rows, and ${received} were received`;
  }
  // What a limit does not touch counts the rows of the interval itself, and those that the service has twice maybe so.
  if (count.rows >= written && count.rows <= written + duplicates) return undefined;
  return `the service counts ${count.rows} rows, and ${written} were written`;
}
