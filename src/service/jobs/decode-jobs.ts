/**
 * Decodes responses about search jobs (sections 4.1, 4.2 and 4.4 of docs/service.md). Unknown fields are ignored, and
 * `null` counts as missing. `page-scanner.ts` decodes pages of messages.
 */
import type { JsonObject } from '../../base/record.ts';
import {
  arrayIn,
  count,
  decodeDocument,
  membersAt,
  mismatch,
  opaqueId,
  optionalArray,
  optionalCount,
  optionalText,
  text,
} from '../json/json-members.ts';
import { decodePageFields } from '../pages/page-field.ts';
import type { HistogramBucket, JobStatus, RecordPage, SearchJobState } from './search-service.ts';

export interface CreatedJob {
  readonly id: string;
  /** Text of the `warning` field, including the service's cookie notice. */
  readonly warning: string | undefined;
}

/** Decodes the response to the creation of a search job (section 2.2 of docs/service.md). */
export function decodeCreatedJob(body: Uint8Array): CreatedJob {
  const members = decodeDocument(body);
  return { id: opaqueId(members, 'id', ''), warning: optionalText(members, 'warning', '') };
}

const states: ReadonlyMap<string, SearchJobState> = new Map<string, SearchJobState>([
  ['NOT STARTED', 'notStarted'],
  ['GATHERING RESULTS', 'gatheringResults'],
  ['GATHERING RESULTS FROM SUBQUERIES', 'gatheringSubqueries'],
  ['FORCE PAUSED', 'forcePaused'],
  ['DONE GATHERING RESULTS', 'doneGatheringResults'],
  ['DONE GATHERING HISTOGRAM', 'doneGatheringHistogram'],
  ['CANCELLED', 'cancelled'],
]);

/** Renders a state in the form in which the service writes it. */
export function renderJobState(state: SearchJobState): string {
  if (typeof state !== 'string') return state.unknown;
  return [...states].find(([, known]) => known === state)?.[0] ?? state;
}

/** Maximum length of an unknown job state, in characters. */
const maxStateLength = 100;

function decodeState(members: JsonObject): SearchJobState {
  const state = text(members, 'state', '').trim();
  // A status without a state is an error. Otherwise, the job would appear to run until it expires.
  if (state === '') throw mismatch('state', 'a state', undefined);
  return states.get(state) ?? { unknown: state.slice(0, maxStateLength) };
}

/** States of a search job in which the service may omit the number of messages. */
const uncounted: ReadonlySet<SearchJobState> = new Set<SearchJobState>([
  'notStarted',
  'gatheringSubqueries',
  'cancelled',
]);

/**
 * Decodes the number of messages. Throws if the number is missing, unless the search job is in one of the `uncounted`
 * states.
 */
function decodeMessageCount(members: JsonObject, state: SearchJobState): number {
  return uncounted.has(state) ? (optionalCount(members, 'messageCount', '') ?? 0) : count(members, 'messageCount', '');
}

function decodeBucket(value: unknown, path: string): HistogramBucket {
  const members = membersAt(value, path);
  const startMs = members.startTimestamp;
  if (typeof startMs !== 'number' || !Number.isSafeInteger(startMs)) {
    throw mismatch(`${path}.startTimestamp`, 'milliseconds since the epoch', startMs);
  }
  return { startMs, lengthMs: count(members, 'length', path), count: count(members, 'count', path) };
}

function texts(members: JsonObject, name: string): readonly string[] {
  return optionalArray(members, name).map((value, index) => {
    if (typeof value !== 'string') throw mismatch(`${name}[${index}]`, 'a string', value);
    return value;
  });
}

/** Decodes the status of a search job (section 2.3 of docs/service.md). */
export function decodeJobStatus(body: Uint8Array): JobStatus {
  const members = decodeDocument(body);
  const state = decodeState(members);
  const usage = members.usageDetails;
  return {
    state,
    messageCount: decodeMessageCount(members, state),
    recordCount: optionalCount(members, 'recordCount', ''),
    buckets: optionalArray(members, 'histogramBuckets').map((value, index) =>
      decodeBucket(value, `histogramBuckets[${index}]`),
    ),
    pendingErrors: texts(members, 'pendingErrors'),
    pendingWarnings: texts(members, 'pendingWarnings'),
    scannedBytes:
      usage === undefined || usage === null
        ? undefined
        : optionalCount(membersAt(usage, 'usageDetails'), 'dataScannedInBytes', 'usageDetails'),
    warning: optionalText(members, 'warning', ''),
  };
}

/** Decodes a page of records (section 2.6 of docs/service.md). */
export function decodeRecordPage(body: Uint8Array): RecordPage {
  const members = decodeDocument(body);
  return {
    fields: decodePageFields(members.fields),
    records: arrayIn(members, 'records').map((value, index) => decodeRecord(value, `records[${index}]`)),
    warning: optionalText(members, 'warning', ''),
  };
}

function decodeRecord(value: unknown, path: string): ReadonlyMap<string, string> {
  const map = membersAt(membersAt(value, path).map, `${path}.map`);
  const record = new Map<string, string>();
  for (const [name, field] of Object.entries(map)) {
    if (field === undefined || field === null) continue;
    record.set(name, fieldText(field, `${path}.map`));
  }
  return record;
}

/** Decodes a value in a record. Numbers and booleans become strings. */
function fieldText(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  // Field names are user data, so the error message does not contain them.
  throw mismatch(`${path}.*`, 'a string', value);
}
