/**
 * Chooses the class of the next request (B3): keep-alives first, then page reads and the creation of upgrade tasks, then the
 * status of tasks and the creation and care of search jobs, then listings.
 *
 * A keep-alive is due long before its search job is in danger of being cancelled. Until then, page reads get slightly more than
 * half of the requests while both wait, because keeping the maximum number of jobs alive takes half of the request rate.
 *
 * Every class gets its turn: a class whose first request is late by `patienceMs` gets every second request, regardless of its
 * rank, or every fourth request while a search job is in danger. Several late classes alternate, so a class waits for at most
 * `patienceMs` and 24 requests.
 */
import type { RequestClass } from './request-slot.ts';

/** Rank of each class of requests. Requests with the lowest rank are sent first. */
const ranks: Readonly<Record<RequestClass, number>> = {
  keepAlive: 0,
  pageRead: 1,
  taskCreation: 1,
  taskStatus: 2,
  jobCreation: 2,
  jobCare: 2,
  listing: 3,
};
export const requestClasses = Object.keys(ranks) as readonly RequestClass[];

/** Time in ms after which a waiting request is sent even if requests of more important classes wait. */
export const patienceMs = 2_000;
/**
 * Time in ms after which an overdue keep-alive of a search job precedes all other requests. A keep-alive is due 12 s after the
 * previous one, so time for a second attempt remains until the service cancels the job after 20 s (3.1).
 */
const keepAliveSlackMs = 3_500;

/** Ratio of keep-alives to requests for pages while both wait: 12 keep-alives to 13 page requests. */
const pollsForPage = 12 / 13;
/**
 * Maximum number of keep-alives that are sent one after another while a request for a page waits. Does not apply if a
 * search job is about to be cancelled.
 */
const mostPollsAhead = 3;

/** First waiting request of a class of requests. */
export interface ClassHead {
  readonly class: RequestClass;
  /** Time in ms since the request was due; negative if the request is not due yet. */
  readonly lateMs: number;
}

export class TurnOrder {
  #turn = 0;
  readonly #served = new Map<RequestClass, number>();
  /** Number of requests chosen by rank since the last request that was chosen because it had waited too long. */
  #inRank = 0;
  /** Number of keep-alives that may be sent before the next waiting request for a page. */
  #pollsAhead = mostPollsAhead;

  /**
   * Chooses the next request among the first waiting requests of all classes, and records that its class was served.
   * Returns undefined if no request waits.
   */
  next<H extends ClassHead>(heads: readonly H[]): H | undefined {
    const poll = heads.find((head) => head.class === 'keepAlive');
    const page = heads.find((head) => head.class === 'pageRead');
    const endangered = poll !== undefined && poll.lateMs > keepAliveSlackMs;
    const givesWay = page !== undefined && !endangered && this.#pollsAhead < 1;
    const first = this.#least(givesWay ? heads.filter((head) => head !== poll) : heads, (head) => ranks[head.class]);
    if (!first) return undefined;
    const late = this.#least(
      heads.filter((head) => head !== first && head !== poll && head.lateMs >= patienceMs),
      () => 0,
    );
    const outOfRank = late !== undefined && this.#inRank >= (endangered ? 3 : 1);
    this.#inRank = outOfRank ? 0 : this.#inRank + 1;
    const chosen = outOfRank ? late : first;
    this.#served.set(chosen.class, ++this.#turn);
    if (chosen === page) this.#pollsAhead = Math.min(mostPollsAhead, this.#pollsAhead + pollsForPage);
    else if (chosen === poll && page) this.#pollsAhead = Math.max(0, this.#pollsAhead - 1);
    return chosen;
  }

  /**
   * Returns the request for which `weigh` returns the lowest number. Among equal requests, the one whose class was
   * served longest ago wins.
   */
  #least<H extends ClassHead>(heads: readonly H[], weigh: (head: H) => number): H | undefined {
    let least: H | undefined;
    for (const head of heads) {
      const difference =
        least === undefined ? -1 : weigh(head) - weigh(least) || this.#servedAt(head) - this.#servedAt(least);
      if (difference < 0) least = head;
    }
    return least;
  }

  #servedAt(head: ClassHead): number {
    return this.#served.get(head.class) ?? 0;
  }
}
