/** A page of results that is not what 2.5 says it is. */
import { DecodeError } from './json-members.ts';

export class PageError extends DecodeError {
  /** The byte of the page, from 0 on, at which it went wrong; its length where it ended too early. */
  readonly offset: number;

  /** `place` is a JSON path, `problem` says what was expected and what was found; never a value of the page. */
  constructor(offset: number, place: string, problem: string) {
    super(`${place}: ${problem}, at byte ${offset}`);
    this.offset = offset;
  }
}
