/** Secret string, such as an access key. It is printed as `[secret]`. Call `reveal` only where the value is sent. */
import { inspect } from 'node:util';

export class SecretText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
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
