/**
 * Small JSON objects of logfleet. Equal values have equal bytes. An object that is read back has exactly the expected form, or the
 * error says what is wrong and where.
 *
 * Decoding is strict, since destinations are shared, and a proof must not depend on an object that is only partly understood.
 */

import { canonicalLines } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { isRecord } from '../base/record.ts';
import { destinationError } from './destination-error.ts';

/** Encodes a value with its members sorted by name. */
export function encodeStored(value: unknown): Uint8Array {
  return Buffer.from(`${canonicalLines(value)}\n`);
}

/** Name of an object, and the remedy if it is damaged, other than exporting everything again. */
export interface StoredObject {
  readonly name: string;
  readonly advice?: string;
}

/** Decodes an object. Members that `read` does not read are errors. Throws `destination.damaged` if the form is wrong. */
export function decodeStored<T>(object: StoredObject, content: Uint8Array, read: (members: StoredMembers) => T): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (cause) {
    throw damaged(object, `it is not valid JSON (${(cause as Error).message})`, cause);
  }
  return readMembers(object, '', value, read);
}

function readMembers<T>(object: StoredObject, path: string, value: unknown, read: (members: StoredMembers) => T): T {
  if (!isRecord(value)) {
    throw damaged(object, `${path === '' ? 'it' : path} is no object`);
  }
  const members = new StoredMembers(object, path, value);
  const result = read(members);
  members.refuseRest();
  return result;
}

export function damaged(object: StoredObject, problem: string, cause?: unknown): LogfleetError {
  return destinationError('damaged', `${object.name} is damaged: ${problem}; ${adviceOf(object)}`, cause);
}

/** Default remedy, for objects on which all others depend. */
function adviceOf({ advice }: StoredObject): string {
  return advice ?? 'restore the original object, or move the folder of this export away to start it again';
}

/** Version of the form of all stored objects. */
const formVersion = 1;

/** Latest time that a `Date` can represent. */
const latestMs = 8.64e15;

/** Typed access to the members of an object. Each member is read once. */
export class StoredMembers {
  readonly #object: StoredObject;
  readonly #path: string;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #taken = new Set<string>();

  constructor(object: StoredObject, path: string, value: Readonly<Record<string, unknown>>) {
    this.#object = object;
    this.#path = path;
    this.#value = value;
  }

  /** Checks the kind and the version of the object. */
  form(kind: string): void {
    this.choice('kind', [kind]);
    const version = this.integer('version', formVersion);
    if (version > formVersion)
      throw this.#newer(`/version is ${version}, but this logfleet supports only ${formVersion}`);
  }

  /** Integer of at least `least`. */
  integer(member: string, least = 0): number {
    const value = this.#take(member);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    throw this.#wrong(member, `is ${shown(value)}, but must be a whole number from ${least} on`);
  }

  /** Milliseconds since the epoch. */
  moment(member: string): number {
    return this.#asMoment(member, this.#take(member));
  }

  /** Milliseconds since the epoch, possibly negative. */
  instant(member: string): number {
    const value = this.#take(member);
    if (typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) <= latestMs) return value;
    throw this.#wrong(member, `is ${shown(value)}, but must be a whole number of milliseconds`);
  }

  optionalInteger(member: string): number | undefined {
    return Object.hasOwn(this.#value, member) ? this.integer(member) : undefined;
  }

  optionalInstant(member: string): number | undefined {
    return Object.hasOwn(this.#value, member) ? this.instant(member) : undefined;
  }

  /** Member that is true or absent. */
  optionalTrue(member: string): boolean {
    if (!Object.hasOwn(this.#value, member)) return false;
    if (this.boolean(member)) return true;
    throw this.#wrong(member, 'is false, but must be true or absent');
  }

  text(member: string, form = /^/): string {
    const value = this.#take(member);
    if (typeof value === 'string' && form.test(value)) return value;
    throw this.#wrong(
      member,
      `is ${shown(value)}, but must be a text${form.source === '^' ? '' : ` like ${form.source}`}`,
    );
  }

  optionalText(member: string, form = /^/): string | undefined {
    return Object.hasOwn(this.#value, member) ? this.text(member, form) : undefined;
  }

  boolean(member: string): boolean {
    const value = this.#take(member);
    if (typeof value === 'boolean') return value;
    throw this.#wrong(member, `is ${shown(value)}, but must be true or false`);
  }

  /** One of several literals. */
  choice<T extends string | number>(member: string, choices: readonly T[]): T {
    const value = this.#take(member);
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw this.#wrong(member, `is ${shown(value)}, but must be ${choices.map(shown).join(' or ')}`);
  }

  /** List of literals. */
  choices<T extends string>(member: string, choices: readonly T[]): readonly T[] {
    return this.#list(member).map((item, index) => {
      const found = choices.find((choice) => choice === item);
      if (found !== undefined) return found;
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, but must be ${choices.map(shown).join(' or ')}`);
    });
  }

  optionalChoices<T extends string>(member: string, choices: readonly T[]): readonly T[] | undefined {
    return Object.hasOwn(this.#value, member) ? this.choices(member, choices) : undefined;
  }

  object<T>(member: string, read: (members: StoredMembers) => T): T {
    return readMembers(this.#object, this.#at(member), this.#take(member), read);
  }

  optionalObject<T>(member: string, read: (members: StoredMembers) => T): T | undefined {
    return Object.hasOwn(this.#value, member) ? this.object(member, read) : undefined;
  }

  objects<T>(member: string, read: (members: StoredMembers) => T): readonly T[] {
    const at = this.#at(member);
    return this.#list(member).map((item, index) => readMembers(this.#object, `${at}/${index}`, item, read));
  }

  optionalObjects<T>(member: string, read: (members: StoredMembers) => T): readonly T[] | undefined {
    return Object.hasOwn(this.#value, member) ? this.objects(member, read) : undefined;
  }

  moments(member: string): readonly number[] {
    return this.#list(member).map((item, index) => this.#asMoment(`${member}/${index}`, item));
  }

  texts(member: string): readonly string[] {
    return this.#list(member).map((item, index) => {
      if (typeof item === 'string') return item;
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, but must be a text`);
    });
  }

  /** Creates an error about this object as a whole. */
  wrong(problem: string): LogfleetError {
    return damaged(this.#object, this.#path === '' ? problem : `${this.#path}: ${problem}`);
  }

  refuseRest(): void {
    const rest = Object.keys(this.#value).find((member) => !this.#taken.has(member));
    if (rest !== undefined) throw this.#newer(`${this.#at(rest)} is not known to this logfleet`);
  }

  #list(member: string): readonly unknown[] {
    const value = this.#take(member);
    if (Array.isArray(value)) return value;
    throw this.#wrong(member, `is ${shown(value)}, but must be a list`);
  }

  #asMoment(member: string, value: unknown): number {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= latestMs) return value;
    throw this.#wrong(member, `is ${shown(value)}, but must be a whole number of milliseconds since 1970`);
  }

  #take(member: string): unknown {
    this.#taken.add(member);
    if (Object.hasOwn(this.#value, member)) return this.#value[member];
    throw this.#wrong(member, 'is missing');
  }

  #at(member: string): string {
    return `${this.#path}/${member}`;
  }

  #newer(problem: string): LogfleetError {
    const advice = `run the newer logfleet that wrote it; if none did, ${adviceOf(this.#object)}`;
    return damaged({ ...this.#object, advice }, problem);
  }

  #wrong(member: string, problem: string): LogfleetError {
    return damaged(this.#object, `${this.#at(member)} ${problem}`);
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
