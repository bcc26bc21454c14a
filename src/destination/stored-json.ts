/**
 * Encodes and decodes the small JSON objects that logfleet stores. Equal values have identical bytes. Decoding rejects
 * unknown fields, because other programs can also write to a destination.
 */
import { canonicalLines } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { isRecord, type JsonObject } from '../base/record.ts';
import { shortened } from '../base/short-text.ts';
import { latestDateMs } from '../base/time-units.ts';
import { type Destination, largestObjectBytes } from './store/destination.ts';
import { destinationError, disappeared, tooLarge } from './store/destination-error.ts';

/** Name of a stored object. `advice` says what to do if the object is damaged. */
export interface StoredObject {
  readonly name: string;
  readonly advice?: string | undefined;
}

/** Location of a value in a stored object, for error messages. The path is empty for the object itself. */
interface ValuePlace {
  readonly object: StoredObject;
  readonly path: string;
}

/** Checks and returns a value from a stored object. Throws the error `destination.damaged` if the value is invalid. */
export type Decoder<T> = ((place: ValuePlace, value: unknown) => T) & { readonly isOptional?: true };

/** Decoder for an optional field of a stored object. */
type OptionalDecoder<T> = Decoder<T> & { readonly isOptional: true };

/** Type of the values that a decoder accepts. */
export type Stored<D> = D extends Decoder<infer T> ? T : never;

/** Schema of an object: one decoder for each field. */
type Shape = Readonly<Record<string, Decoder<unknown>>>;

type OptionalNames<S extends Shape> = { [N in keyof S]: S[N] extends OptionalDecoder<unknown> ? N : never }[keyof S];

/** Object with the fields of a schema. */
type ObjectOf<S extends Shape> = { readonly [N in keyof S as Exclude<N, OptionalNames<S>>]: Stored<S[N]> } & {
  readonly [N in keyof S as Extract<N, OptionalNames<S>>]?: Stored<S[N]> | undefined;
};

interface StoredKindOptions<T> {
  /** Kind of the stored object, such as `logfleet.dev/export-plan`. */
  readonly kind: string;
  readonly form: Decoder<T>;
  /** Advice for users if the object is damaged. The default is to start the export again. */
  readonly advice?: string;
  /** Maximum size of the object in bytes. The default is `largestObjectBytes`. */
  readonly maxBytes?: number;
}

/** Version of the JSON format of all stored objects. */
const formVersion = 1;
const maxShownLength = 60;

export class StoredKind<T extends object> {
  readonly #options: StoredKindOptions<T>;

  constructor(options: StoredKindOptions<T>) {
    this.#options = options;
  }

  /** Encodes a value as JSON with sorted fields. */
  encode(value: T): Uint8Array {
    return Buffer.from(`${canonicalLines({ kind: this.#options.kind, version: formVersion, ...value })}\n`);
  }

  /** Decodes an object. Throws the error `destination.damaged` if it is invalid. */
  decode(name: string, content: Uint8Array): T {
    const { kind, form, advice } = this.#options;
    const object = { name, advice };
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
    } catch (cause) {
      throw damaged(object, `the content is not valid JSON (${(cause as Error).message})`, cause);
    }
    const { kind: found, version, ...members } = membersOf({ object, path: '' }, value);
    required({ object, path: '/kind' }, found, choice([kind]));
    if (required({ object, path: '/version' }, version, integer(1)) > formVersion) {
      throw newer(
        object,
        `the object has the format version ${version} (/version), but this version of logfleet supports only ${formVersion}`,
      );
    }
    return form({ object, path: '' }, members);
  }

  /** Returns the error for a stored object whose content is contradictory. */
  damaged(name: string, problem: string): LogfleetError {
    return damaged({ name, advice: this.#options.advice }, problem);
  }

  /** Reads an object. Returns undefined if it does not exist. */
  async read(destination: Destination, name: string): Promise<T | undefined> {
    const content = await destination.read(name, this.#options.maxBytes);
    return content && this.decode(name, content);
  }

  /**
   * Writes the object if it does not exist, and returns the stored object. The call can be retried after an error.
   * @param content the encoded object, if the caller already has it
   */
  async storeOnce(destination: Destination, name: string, ours: T, content = this.encode(ours)): Promise<T> {
    const { maxBytes = largestObjectBytes } = this.#options;
    // A larger object could not be read back.
    if (content.length > maxBytes) throw tooLarge(name, String(content.length), maxBytes);
    if ((await destination.create(name, content)) === 'created') return ours;
    const existing = await destination.read(name, maxBytes);
    if (!existing) throw disappeared(name, destination.url);
    return Buffer.compare(existing, content) === 0 ? ours : this.decode(name, existing);
  }
}

export function damaged(object: StoredObject, problem: string, cause?: unknown): LogfleetError {
  return destinationError('damaged', `${object.name} is damaged: ${problem}; ${adviceOf(object)}`, cause);
}

export function object<S extends Shape>(shape: S): Decoder<ObjectOf<S>> {
  const decoders = Object.entries(shape);
  return (place, value) => {
    const members = membersOf(place, value);
    const decoded: Record<string, unknown> = {};
    for (const [name, decode] of decoders) {
      if (decode.isOptional && !Object.hasOwn(members, name)) continue;
      decoded[name] = required(at(place, name), members[name], decode);
    }
    const unknown = Object.keys(members).find((name) => !Object.hasOwn(shape, name));
    if (unknown !== undefined)
      throw newer(place.object, `the field ${place.path}/${unknown} is unknown to this version of logfleet`);
    return decoded as ObjectOf<S>;
  };
}

/** Returns a decoder that also rejects a value if `problemOf` finds a contradiction in it. */
export function checked<T>(decode: Decoder<T>, problemOf: (value: T) => string | undefined): Decoder<T> {
  return (place, value) => {
    const decoded = decode(place, value);
    const problem = problemOf(decoded);
    if (problem === undefined) return decoded;
    throw damaged(place.object, place.path === '' ? problem : `${place.path}: ${problem}`);
  };
}

export function optional<T>(decode: Decoder<T>): OptionalDecoder<T> {
  return Object.assign((place: ValuePlace, value: unknown) => decode(place, value), { isOptional: true as const });
}

export function list<T>(item: Decoder<T>): Decoder<readonly T[]> {
  return (place, value) => {
    if (Array.isArray(value)) return value.map((each, index) => item(at(place, String(index)), each));
    throw wrong(place, value, 'a list');
  };
}

export function integer(min = 0): Decoder<number> {
  return value(`a whole number from ${min} on`, (number) => Number.isSafeInteger(number) && Number(number) >= min);
}

/** Decoder for times in milliseconds since the epoch. */
export const moment: Decoder<number> = value(
  'a whole number of milliseconds since 1970',
  (ms) => isTime(ms) && ms >= 0,
);
/** Decodes times in ms since the epoch. Times before 1970 are negative. */
export const timestampMs: Decoder<number> = value('a whole number of milliseconds', isTime);
export const boolean: Decoder<boolean> = value('true or false', (flag) => typeof flag === 'boolean');
/** Decoder for fields that are true or absent. */
export const trueOrAbsent: OptionalDecoder<true> = optional(value<true>('true or absent', (flag) => flag === true));

export function storedText(form?: RegExp): Decoder<string> {
  const isText = (each: unknown) => typeof each === 'string' && (form === undefined || form.test(each));
  return value(form === undefined ? 'a text' : `a text like ${form.source}`, isText);
}

export function choice<const T extends string>(choices: readonly T[]): Decoder<T> {
  return value(choices.map(shown).join(' or '), (each) => choices.some((one) => one === each));
}

function value<T>(expected: string, isExpected: (value: unknown) => boolean): Decoder<T> {
  return (place, found) => {
    if (isExpected(found)) return found as T;
    throw wrong(place, found, expected);
  };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(Number(value)) <= latestDateMs;
}

function required<T>(place: ValuePlace, value: unknown, decode: Decoder<T>): T {
  if (value !== undefined) return decode(place, value);
  throw damaged(place.object, `${place.path} is missing`);
}

function membersOf({ object, path }: ValuePlace, value: unknown): JsonObject {
  if (isRecord(value)) return value;
  throw damaged(object, `${path === '' ? 'it' : path} is not an object`);
}

function at({ object, path }: ValuePlace, member: string): ValuePlace {
  return { object, path: `${path}/${member}` };
}

/** Returns the advice for a damaged object. */
function adviceOf({ advice }: StoredObject): string {
  return advice ?? "restore the original object, or move the export's folder away to start the export again";
}

function newer(object: StoredObject, problem: string): LogfleetError {
  const advice = `run the newer version of logfleet that wrote the object; if no newer version wrote it, ${adviceOf(object)}`;
  return damaged({ ...object, advice }, problem);
}

function wrong({ object, path }: ValuePlace, found: unknown, expected: string): LogfleetError {
  return damaged(object, `${path} is ${shown(found)}, but must be ${expected}`);
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? 'nothing', maxShownLength);
}
