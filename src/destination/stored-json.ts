/**
 * Small objects that logfleet stores as JSON: the same value always gives the same bytes, and what is read back is either
 * exactly of the form that was expected or an error that says what is wrong and where.
 *
 * Strict on purpose: a destination is shared, and what proves an export must not rest on something half understood.
 */
import { canonicalLines } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { destinationError } from './destination-error.ts';

/** Members in order of their names. */
export function encodeStored(value: unknown): Uint8Array {
  return Buffer.from(`${canonicalLines(value)}\n`);
}

/** Which object it is, and what a person can do about one that is damaged, instead of having everything exported again. */
export interface StoredObject {
  readonly name: string;
  readonly advice?: string;
}

/** Whatever `read` does not ask for is refused. `destination.damaged` when it is not of the form. */
export function decodeStored<T>(object: StoredObject, content: Uint8Array, read: (members: StoredMembers) => T): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (cause) {
    throw damaged(object, `it is no JSON (${(cause as Error).message})`, cause);
  }
  return readMembers(object, '', value, read);
}

function readMembers<T>(object: StoredObject, path: string, value: unknown, read: (members: StoredMembers) => T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw damaged(object, `${path === '' ? 'it' : path} is no object`);
  }
  const members = new StoredMembers(object, path, value as Record<string, unknown>);
  const result = read(members);
  members.refuseRest();
  return result;
}

export function damaged(object: StoredObject, problem: string, cause?: unknown): LogfleetError {
  return destinationError(
    'damaged',
    `${object.name} is not as logfleet writes it: ${problem}; ${adviceOf(object)}`,
    cause,
  );
}

/** For what everything else rests on, too. */
function adviceOf({ advice }: StoredObject): string {
  return advice ?? 'put back what stood there, or move the folder of this export away, and it begins anew';
}

/** Of all that is stored: what is written otherwise has another. */
const formVersion = 1;

/** What a date can be at most. */
const latestMs = 8.64e15;

/** The members of one object, each taken once and by its type. */
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

  /** That it is such an object, in the one form that this version knows. */
  form(kind: string): void {
    this.choice('kind', [kind]);
    const version = this.integer('version', formVersion);
    if (version > formVersion)
      throw this.#newer(`/version is ${version}, and ${formVersion} is known to this logfleet`);
  }

  /** A whole number from `least` on. */
  integer(member: string, least = 0): number {
    const value = this.#take(member);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be a whole number from ${least} on`);
  }

  /** Milliseconds since the epoch. */
  moment(member: string): number {
    return this.#asMoment(member, this.#take(member));
  }

  /** Milliseconds since the epoch, also before it. */
  instant(member: string): number {
    const value = this.#take(member);
    if (typeof value === 'number' && Number.isSafeInteger(value) && Math.abs(value) <= latestMs) return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be a whole number of milliseconds`);
  }

  optionalInteger(member: string): number | undefined {
    return Object.hasOwn(this.#value, member) ? this.integer(member) : undefined;
  }

  optionalInstant(member: string): number | undefined {
    return Object.hasOwn(this.#value, member) ? this.instant(member) : undefined;
  }

  /** Of a member that is true or absent. */
  optionalTrue(member: string): boolean {
    if (!Object.hasOwn(this.#value, member)) return false;
    if (this.boolean(member)) return true;
    throw this.#wrong(member, 'is false, and has to be true or absent');
  }

  text(member: string, form = /^/): string {
    const value = this.#take(member);
    if (typeof value === 'string' && form.test(value)) return value;
    throw this.#wrong(
      member,
      `is ${shown(value)}, and has to be a text${form.source === '^' ? '' : ` like ${form.source}`}`,
    );
  }

  optionalText(member: string, form = /^/): string | undefined {
    return Object.hasOwn(this.#value, member) ? this.text(member, form) : undefined;
  }

  boolean(member: string): boolean {
    const value = this.#take(member);
    if (typeof value === 'boolean') return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be true or false`);
  }

  /** One of some literals. */
  choice<T extends string | number>(member: string, choices: readonly T[]): T {
    const value = this.#take(member);
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw this.#wrong(member, `is ${shown(value)}, and has to be ${choices.map(shown).join(' or ')}`);
  }

  /** A list of some literals. */
  choices<T extends string>(member: string, choices: readonly T[]): readonly T[] {
    return this.#list(member).map((item, index) => {
      const found = choices.find((choice) => choice === item);
      if (found !== undefined) return found;
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, and has to be ${choices.map(shown).join(' or ')}`);
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
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, and has to be a text`);
    });
  }

  /** An error about this object as a whole. */
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
    throw this.#wrong(member, `is ${shown(value)}, and has to be a list`);
  }

  #asMoment(member: string, value: unknown): number {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= latestMs) return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be a whole number of milliseconds since 1970`);
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
    const advice = `run the newer logfleet that wrote it; where none did, ${adviceOf(this.#object)}`;
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
