/** Error for a page of results that violates 2.5. */
import { DecodeError } from './json-members.ts';

export class PageError extends DecodeError {
  /** Offset of the wrong byte in the page. The length of the page if it is truncated. */
  readonly offset: number;

  /** `place` is a JSON path. `problem` says what was expected and found, without values of the page. */
  constructor(offset: number, place: string, problem: string) {
    super(`${place}: ${problem}, at byte ${offset}`);
    this.offset = offset;
  }
}
