/** Refusals with the codes of search jobs (7.2 to 7.4), which carry a prefix of their own. */
import type { Refused } from '../call.ts';

export function refuseSearch(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message, ofSearch: true } };
}
