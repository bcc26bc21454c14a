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

/** `name` says which object it is. Whatever `read` does not ask for is refused. `destination.damaged` when it is not of the form. */
export function decodeStored<T>(name: string, content: Uint8Array, read: (members: StoredMembers) => T): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (cause) {
    throw damaged(name, `it is no JSON (${(cause as Error).message})`, undefined, cause);
  }
  return readMembers(name, '', value, read);
}

function readMembers<T>(name: string, path: string, value: unknown, read: (members: StoredMembers) => T): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw damaged(name, `${path === '' ? 'it' : path} is no object`);
  }
  const members = new StoredMembers(name, path, value as Record<string, unknown>);
  const result = read(members);
  members.refuseRest();
  return result;
}

/** `advice` is what a person can do instead of having everything exported again. */
export function damaged(name: string, problem: string, advice?: string, cause?: unknown): LogfleetError {
  const wayOn = advice ?? 'put back what stood there, or move the folder of this export away, and it begins anew';
  return destinationError('damaged', `${name} is not as logfleet writes it: ${problem}; ${wayOn}`, cause);
}

/** The members of one object, each taken once and by its type. */
export class StoredMembers {
  readonly #name: string;
  readonly #path: string;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #taken = new Set<string>();

  constructor(name: string, path: string, value: Readonly<Record<string, unknown>>) {
    this.#name = name;
    this.#path = path;
    this.#value = value;
  }

  /** A whole number from `least` on. */
  integer(member: string, least = 0): number {
    const value = this.#take(member);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be a whole number from ${least} on`);
  }

  text(member: string, form = /^/): string {
    const value = this.#take(member);
    if (typeof value === 'string' && form.test(value)) return value;
    throw this.#wrong(
      member,
      `is ${shown(value)}, and has to be a text${form.source === '^' ? '' : ` like ${form.source}`}`,
    );
  }

  optionalText(member: string): string | undefined {
    return Object.hasOwn(this.#value, member) ? this.text(member) : undefined;
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

  object<T>(member: string, read: (members: StoredMembers) => T): T {
    return readMembers(this.#name, this.#at(member), this.#take(member), read);
  }

  optionalObject<T>(member: string, read: (members: StoredMembers) => T): T | undefined {
    return Object.hasOwn(this.#value, member) ? this.object(member, read) : undefined;
  }

  objects<T>(member: string, read: (members: StoredMembers) => T): readonly T[] {
    return this.#list(member).map((item, index) => readMembers(this.#name, `${this.#at(member)}/${index}`, item, read));
  }

  optionalObjects<T>(member: string, read: (members: StoredMembers) => T): readonly T[] | undefined {
    return Object.hasOwn(this.#value, member) ? this.objects(member, read) : undefined;
  }

  integers(member: string): readonly number[] {
    return this.#list(member).map((item, index) => {
      if (typeof item === 'number' && Number.isSafeInteger(item) && item >= 0) return item;
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, and has to be a whole number`);
    });
  }

  texts(member: string): readonly string[] {
    return this.#list(member).map((item, index) => {
      if (typeof item === 'string') return item;
      throw this.#wrong(`${member}/${index}`, `is ${shown(item)}, and has to be a text`);
    });
  }

  /** An error about this object as a whole. */
  wrong(problem: string): LogfleetError {
    return damaged(this.#name, this.#path === '' ? problem : `${this.#path}: ${problem}`);
  }

  refuseRest(): void {
    const rest = Object.keys(this.#value).find((member) => !this.#taken.has(member));
    if (rest !== undefined) throw this.#wrong(rest, 'is not known to this version of logfleet');
  }

  #list(member: string): readonly unknown[] {
    const value = this.#take(member);
    if (Array.isArray(value)) return value;
    throw this.#wrong(member, `is ${shown(value)}, and has to be a list`);
  }

  #take(member: string): unknown {
    this.#taken.add(member);
    if (Object.hasOwn(this.#value, member)) return this.#value[member];
    throw this.#wrong(member, 'is missing');
  }

  #at(member: string): string {
    return `${this.#path}/${member}`;
  }

  #wrong(member: string, problem: string): LogfleetError {
    return damaged(this.#name, `${this.#at(member)} ${problem}`);
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
