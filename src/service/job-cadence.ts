/**
 * When a job is asked for its status. Two reasons there are:
 *
 * - **To keep it alive** (protocol B4): 12 s after the sending of the last answered request for its status or results, pages too.
 * - **To look how far it is.** The first look is 2 s after the creation. A job finds its buckets from the end of its range to the
 *   beginning (2.3), so from then on the histogram shows what part is done, and the next look comes a little after the moment when
 *   all of it should be. Where nothing is known yet, in twice the time that has gone by. Never later than 12 s.
 *
 * A search of 10 s thus takes two looks, one of less than 2 s a single one, and a long one no more than its keep-alive. A poll that is
 * lost is sent again at once, and once more; then less often, with more time for its answer.
 */

/** After the sending of the last answered request of the job. */
export const keepAliveMs = 12_000;

const firstLookMs = 2_000;
/** An estimate may be short by this part of the whole, and by this time. */
const overshootPart = 0.1;
const overshootMs = 250;
/** However near the end seems, the next look is not earlier than after this part of the time that has gone by. */
const leastPart = 0.1;
const leastLookMs = 500;
/** Where nothing is known of how far the job is. */
const blindFactor = 2;

/** How far a job is at a status. */
export interface Course {
  /** From the sending of the creation to that of the status. */
  readonly elapsedMs: number;
  /** The part of its range that is done, 0 to 1; undefined while nothing shows it. */
  readonly donePart: number | undefined;
}

/** How long after the creation the first look comes, or after a status the next. */
export function nextLookMs(course: Course | undefined): number {
  if (!course) return firstLookMs;
  const { elapsedMs, donePart } = course;
  if (!donePart) return bounded(blindFactor * elapsedMs, elapsedMs);
  const wholeMs = elapsedMs / donePart;
  return bounded(wholeMs * (1 + overshootPart) + overshootMs - elapsedMs, elapsedMs);
}

function bounded(delayMs: number, elapsedMs: number): number {
  return Math.min(keepAliveMs, Math.max(delayMs, leastLookMs, leastPart * elapsedMs));
}

/** How a poll that failed for the `tries`th time in a row is sent again: after how long, and how long its answer may take. */
export interface Repeat {
  readonly delayMs: number;
  readonly deadlineMs: number;
}

const repeats: readonly Repeat[] = [
  { delayMs: 0, deadlineMs: 2_000 },
  { delayMs: 0, deadlineMs: 4_000 },
  { delayMs: 1_000, deadlineMs: 8_000 },
  { delayMs: 2_000, deadlineMs: 8_000 },
];
const lastRepeat: Repeat = { delayMs: 4_000, deadlineMs: 8_000 };

export function repeatAfter(tries: number): Repeat {
  return repeats[tries - 1] ?? lastRepeat;
}
