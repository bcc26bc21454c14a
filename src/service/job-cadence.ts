/**
 * When a job is asked for its status. Two reasons there are:
 *
 * - **To keep it alive** (protocol B4): 12 s after the sending of the last answered request for its status or results, pages too.
 * - **To look how far it is.** The first look is when whoever knows the searches of this service expects the job to be done, 2 s after the
 *   creation at the earliest, and 2.5 s where nobody knows: how long searches take is a round number more often than not, and a look right
 *   before the end costs another one, which may be long after. A job finds its buckets from the end of its range to the
 *   beginning (2.3), so from then on the histogram shows what part is done, and the next look comes a little after the moment when
 *   all of it should be. Where that shows nothing, or too little to be believed, when a short search is over, 10.5 s after the creation;
 *   later in twice the time that has gone by. Where it showed too much, so that the second look came too soon, the third is not
 *   before that time either. Never later than 12 s.
 *
 * A search that is done within 10 s thus takes two looks at most, wherever its messages lie, or three where its histogram shows more
 * than is done. One of less than 2 s, or 2.5 s, takes a single one, and a long one no more than its keep-alive. A question that failed is
 * asked again at once, and once more, then less often. One that is merely not answered yet is left to itself while the job has
 * time: a look until a poll is due, a poll until 16 s. Then another goes out beside it, which reaches the service before 20 s are over.
 */

/** After the sending of the last answered request of the job. */
export const keepAliveMs = 12_000;

const soonestLookMs = 2_000;
/** Of a search of which nobody knows how long it takes. */
const usualLookMs = 2_500;
/** An estimate may be short by this part of the whole, and by this time. */
const overshootPart = 0.1;
const overshootMs = 250;
/** However near the end seems, the next look is not earlier than after this part of the time that has gone by. */
const leastPart = 0.1;
const leastLookMs = 500;
/** After the creation a search of 10 s is over, its way and its start included. */
const shortSearchMs = 10_500;

/** How far a job is at a status. */
export interface Course {
  /** From the sending of the creation to that of the status. */
  readonly elapsedMs: number;
  /** The part of that time since which the search may have begun: since it was last seen not to have. */
  readonly searchingMs: number;
  /** The part of its range that is done, 0 to 1; undefined while nothing shows it. */
  readonly donePart: number | undefined;
  /** Statuses that were answered, this one too. */
  readonly looks: number;
}

/** How long after the creation the first look comes. `expectedMs` after it the search should be over, as far as anybody knows. */
export function firstLookMs(expectedMs = usualLookMs): number {
  return Math.min(keepAliveMs, Math.max(soonestLookMs, expectedMs));
}

/** How long after a status the next look comes. */
export function nextLookMs(course: Course): number {
  const { elapsedMs, looks } = course;
  const untilShortMs = shortSearchMs - elapsedMs;
  const leastMs = Math.max(leastLookMs, leastPart * elapsedMs, looks > 1 ? untilShortMs : 0);
  const mostMs = Math.max(untilShortMs, elapsedMs);
  return Math.min(keepAliveMs, Math.max(leastMs, Math.min(mostMs, remainingMs(course))));
}

/** Infinity while nothing is known. */
function remainingMs({ searchingMs, donePart }: Course): number {
  if (!donePart) return Number.POSITIVE_INFINITY;
  return (searchingMs / donePart) * (1 + overshootPart) + overshootMs - searchingMs;
}

/** After the sending of the last answered request, a poll that is not answered yet is followed by another. */
export const secondTryMs = 16_000;

/** How long the `tries`th question in a row is waited for before the next one may go out beside it. */
export function patienceMs(tries: number): number {
  return patiences[Math.max(1, tries) - 1] ?? lastPatienceMs;
}

const patiences: readonly number[] = [2_000, 2_000, 4_000];
const lastPatienceMs = 8_000;

/** How long after the `tries`th question in a row has failed the next one goes out. */
export function delayAfterFailure(tries: number): number {
  return delays[tries - 1] ?? lastDelayMs;
}

const delays: readonly number[] = [0, 0, 1_000, 2_000];
const lastDelayMs = 4_000;
