/**
 * A text that must not be seen: an access key, a token. It prints as `[secret]` however it gets into a log, a message, a
 * status or a dump; only `reveal` gives it out, at the place where it is sent.
 */
import { inspect } from 'node:util';

export class SecretText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  equals(other: SecretText): boolean {
    return this.#text === other.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
