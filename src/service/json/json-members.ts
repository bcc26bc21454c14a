/**
 * Typed access to members of JSON documents of the service. `null` counts as missing. A wrong type is a `DecodeError` that contains
 * the JSON path, never the value.
 */

import { LogfleetError } from '../../base/errors.ts';
import { isRecord } from '../../base/record.ts';
import { parseJson } from './exact-json.ts';

/**
 * Error for an answer that violates the specification. The message contains the JSON path of the
 * invalid value, never the value itself.
 */
export class DecodeError extends LogfleetError {
  override readonly name = 'DecodeError';

  constructor(message: string, cause?: unknown) {
    super({ code: 'service.answer.invalid', message, handling: { kind: 'backoff' }, reason: 'AnswerInvalid', cause });
  }
}

export type Members = Readonly<Record<string, unknown>>;

/** Parses the whole answer as an object. Throws a `DecodeError` for an empty body, an HTML page or a truncated document. */
export function decodeDocument(body: Uint8Array): Members {
  if (body.length === 0) throw new DecodeError('the body is empty');
  let document: unknown;
  try {
    document = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (error) {
    throw new DecodeError(`the body is not JSON, or is truncated (${body.length} bytes)`, error);
  }
  return membersAt(document, 'the body');
}

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}

export function mismatch(path: string, expected: string, value: unknown): DecodeError {
  return new DecodeError(`${path}: expected ${expected}, found ${typeName(value)}`);
}

/** JSON path of a member: `path.name`, or only the name at the top level. */
function placeOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

export function membersAt(value: unknown, path: string): Members {
  if (!isRecord(value)) throw mismatch(path, 'an object', value);
  return value;
}

export function arrayIn(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  if (!Array.isArray(value)) throw mismatch(name, 'an array', value);
  return value;
}

/** Reads an array member of a JSON object that may be absent. */
export function optionalArray(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  return value === undefined || value === null ? [] : arrayIn(members, name);
}

type Optional<T> = (members: Members, name: string, path: string) => T | undefined;

function optional<T>(expected: string, isValid: (value: unknown) => value is T): Optional<T> {
  return (members, name, path) => {
    const value = members[name] ?? undefined;
    if (value === undefined || isValid(value)) return value;
    throw mismatch(placeOf(path, name), expected, value);
  };
}

export const optionalText: Optional<string> = optional('a string', (value) => typeof value === 'string');
export const optionalFlag: Optional<boolean> = optional('true or false', (value) => typeof value === 'boolean');
export const optionalNumber: Optional<number> = optional('a number', (value) => typeof value === 'number');

export function text(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value !== 'string') throw mismatch(placeOf(path, name), 'a string', value);
  return value;
}

/**
 * Reads a count, an integer of at least 0, that may be absent. `parseJson` returns large integers
 * as strings of digits.
 */
export function optionalCount(members: Members, name: string, path: string): number | undefined {
  const value = members[name];
  if (value === undefined || value === null) return undefined;
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0) {
    throw mismatch(placeOf(path, name), 'a whole number from 0 on', value);
  }
  return count;
}

const integerForm = /^-?\d+$/;

/** Reads a 64-bit integer that is written as a number or as a string of digits. */
export function integerId(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && integerForm.test(value)) return value;
  throw mismatch(placeOf(path, name), 'an integer', value);
}

/**
 * Reads an id that is a string or an integer. The same task id can be an integer in one answer and
 * a string in another.
 */
export function opaqueId(members: Members, name: string, path: string): string {
  const value = members[name];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && value !== '') return value;
  throw mismatch(placeOf(path, name), 'an id', value);
}
