/**
 * Answers of the service, from unknown JSON to types that cannot hold nonsense. Unknown members are ignored; members that
 * the specification does not promise may be missing, and `null` counts as missing. A wrong type is a `DecodeError`
 * that names the place.
 *
 * Invariant: ids are decimal strings, whole (`json.ts`); objects of one kind have one shape, so that many stay small.
 */
import { LogfleetError } from '../base/errors.ts';
import { parseJson } from './json.ts';
import type { StringPool } from './string-pool.ts';
import type { Build, Collector, TaskStatus, UpgradeTask } from './upgrade-service.ts';

/** An answer that is not what the specification says. The message names the JSON path, never a value. */
export class DecodeError extends LogfleetError {
  override readonly name = 'DecodeError';

  constructor(message: string, cause?: unknown) {
    super({ code: 'service.answer.invalid', message, handling: { kind: 'backoff' }, reason: 'AnswerInvalid', cause });
  }
}

type Members = Readonly<Record<string, unknown>>;

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}

function mismatch(path: string, expected: string, value: unknown): DecodeError {
  return new DecodeError(`${path}: expected ${expected}, found ${typeName(value)}`);
}

function membersAt(value: unknown, path: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mismatch(path, 'an object', value);
  return value as Members;
}

function arrayIn(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  if (!Array.isArray(value)) throw mismatch(name, 'an array', value);
  return value;
}

function optionalText(members: Members, name: string, path: string): string | undefined {
  const value = members[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw mismatch(`${path}.${name}`, 'a string', value);
  return value;
}

function text(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value !== 'string') throw mismatch(`${path}.${name}`, 'a string', value);
  return value;
}

function optionalFlag(members: Members, name: string, path: string): boolean | undefined {
  const value = members[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw mismatch(`${path}.${name}`, 'true or false', value);
  return value;
}

function optionalNumber(members: Members, name: string, path: string): number | undefined {
  const value = members[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw mismatch(`${path}.${name}`, 'a number', value);
  return value;
}

const integerForm = /^-?\d+$/;

/** A 64-bit integer, as a number or as a string of digits. */
function integerId(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && integerForm.test(value)) return value;
  throw mismatch(`${path}.${name}`, 'an integer', value);
}

/** An id that is opaque: a string, or an integer (a task's id is the one when created and the other when read). */
function opaqueId(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw mismatch(`${path}.${name}`, 'an id', value);
}

/** The whole answer as an object; an empty body, an HTML page or half a document is a `DecodeError`. */
function decodeDocument(body: Uint8Array): Members {
  if (body.length === 0) throw new DecodeError('the body is empty');
  let document: unknown;
  try {
    document = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (error) {
    throw new DecodeError(`the body is no JSON, or not all of it (${body.length} bytes)`, error);
  }
  return membersAt(document, 'the body');
}

function decodeCollector(value: unknown, path: string, pool: StringPool): Collector {
  const members = membersAt(value, path);
  const shared = (name: string) => {
    const found = optionalText(members, name, path);
    return found === undefined ? undefined : pool.intern(found);
  };
  return {
    id: integerId(members, 'id', path),
    name: optionalText(members, 'name', path) ?? '',
    hostName: optionalText(members, 'hostName', path),
    timeZone: shared('timeZone'),
    ephemeral: optionalFlag(members, 'ephemeral', path),
    sourceSyncMode: shared('sourceSyncMode'),
    collectorType: shared('collectorType'),
    collectorVersion: shared('collectorVersion'),
    osName: shared('osName'),
    osVersion: shared('osVersion'),
    osArch: shared('osArch'),
    lastSeenAliveMs: optionalNumber(members, 'lastSeenAlive', path),
    alive: optionalFlag(members, 'alive', path),
  };
}

/** 4.6: `{collectors: […]}`. */
export function decodeCollectors(body: Uint8Array, pool: StringPool): readonly Collector[] {
  const list = arrayIn(decodeDocument(body), 'collectors');
  return list.map((value, index) => decodeCollector(value, `collectors[${index}]`, pool));
}

/** 4.7: `{targets: […]}`. */
export function decodeBuilds(body: Uint8Array): readonly Build[] {
  return arrayIn(decodeDocument(body), 'targets').map((value, index) => {
    const path = `targets[${index}]`;
    const members = membersAt(value, path);
    return { version: text(members, 'version', path), latest: optionalFlag(members, 'latest', path) ?? false };
  });
}

const taskStatusByCode: ReadonlyMap<number, TaskStatus> = new Map<number, TaskStatus>([
  [0, 'notStarted'],
  [1, 'pending'],
  [2, 'succeeded'],
  [3, 'failed'],
  [6, 'progressing'],
]);

/** As seconds this is the year 5138, as milliseconds 1973: what is smaller is in seconds. */
const secondsLimit = 100_000_000_000;

function instantMs(timestamp: number | undefined): number | undefined {
  if (timestamp === undefined) return undefined;
  return timestamp < secondsLimit ? timestamp * 1000 : timestamp;
}

/** 4.8: `{upgrade: {…}}`. The time of the request is `requestTime` or `requestedTime`, in seconds or in milliseconds. */
export function decodeTask(body: Uint8Array): UpgradeTask {
  const path = 'upgrade';
  const members = membersAt(decodeDocument(body)[path], path);
  const statusCode = members.status;
  if (typeof statusCode !== 'number') throw mismatch(`${path}.status`, 'a number', statusCode);
  const requested = optionalNumber(members, 'requestTime', path) ?? optionalNumber(members, 'requestedTime', path);
  return {
    id: opaqueId(members, 'id', path),
    collectorId: integerId(members, 'collectorId', path),
    toVersion: text(members, 'toVersion', path),
    status: taskStatusByCode.get(statusCode) ?? 'unknown',
    statusCode,
    requestedMs: instantMs(requested),
    message: optionalText(members, 'message', path),
  };
}

/** 4.9: `{id, link}`. */
export function decodeCreatedTask(body: Uint8Array): { readonly taskId: string } {
  return { taskId: opaqueId(decodeDocument(body), 'id', 'the body') };
}
