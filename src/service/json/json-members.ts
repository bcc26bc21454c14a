/**
 * Reads the fields of a JSON document from the service. `null` counts as missing. Throws a `DecodeError` for a value of
 * the wrong type.
 */

import { isRecord, type JsonObject } from '../../base/record.ts';
import { parseJson } from './exact-json.ts';

/**
 * Error for an invalid response. The message contains the JSON path of the invalid value, but never the value itself.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Parses the whole response as an object. Throws a `DecodeError` for anything else. */
export function decodeDocument(body: Uint8Array): JsonObject {
  if (body.length === 0) throw new DecodeError('the body is empty');
  let document: unknown;
  try {
    document = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch (error) {
    throw new DecodeError(`the body is not JSON, or is truncated (${body.length} bytes)`, { cause: error });
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

export function membersAt(value: unknown, path: string): JsonObject {
  if (!isRecord(value)) throw mismatch(path, 'an object', value);
  return value;
}

export function arrayIn(members: JsonObject, name: string): readonly unknown[] {
  const value = members[name];
  if (!Array.isArray(value)) throw mismatch(name, 'an array', value);
  return value;
}

export function optionalArray(members: JsonObject, name: string): readonly unknown[] {
  const value = members[name];
  return value === undefined || value === null ? [] : arrayIn(members, name);
}

/** Reads a field of a JSON object. Throws a `DecodeError` if the field's value is invalid. */
type Read<T> = (members: JsonObject, name: string, path: string) => T;

/** Returns a function that reads a required field. `convert` returns undefined for an invalid value. */
function required<T>(expected: string, convert: (value: unknown) => T | undefined): Read<T> {
  return (members, name, path) => {
    const value = convert(members[name]);
    if (value === undefined) throw mismatch(path === '' ? name : `${path}.${name}`, expected, members[name]);
    return value;
  };
}

/** Returns a function that reads an optional field. */
function optional<T>(read: Read<T>): Read<T | undefined> {
  return (members, name, path) =>
    members[name] === undefined || members[name] === null ? undefined : read(members, name, path);
}

function asCount(value: unknown): number | undefined {
  // A count can be a number or a string of digits, because `parseJson` returns large integers as strings.
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : undefined;
}

function asInteger(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && /^-?\d+$/.test(value) ? value : undefined;
}

export const text: Read<string> = required('a string', (value) => (typeof value === 'string' ? value : undefined));
export const optionalText: Read<string | undefined> = optional(text);
export const optionalFlag: Read<boolean | undefined> = optional(
  required('true or false', (value) => (typeof value === 'boolean' ? value : undefined)),
);
export const optionalNumber: Read<number | undefined> = optional(
  required('a number', (value) => (typeof value === 'number' ? value : undefined)),
);
/** Reads an integer of at least 0. */
export const count: Read<number> = required('a whole number from 0 on', asCount);
export const optionalCount: Read<number | undefined> = optional(count);
/** Reads a 64-bit integer, written as a number or a string of digits. */
export const integerId: Read<string> = required('an integer', asInteger);
/** Reads an id. The service may write the same id either as an integer or as a string. */
export const opaqueId: Read<string> = required('an id', (value) =>
  typeof value === 'string' && value !== '' ? value : asInteger(value),
);
