/**
 * A secret string, such as an access key or a token. It prints as `[secret]` in logs, messages, status and dumps. Only `reveal`
 * returns the value. Call it where the value is sent, and nowhere else.
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
