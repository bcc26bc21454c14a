/**
 * Chooses the class of the next request (B3). Order: keep-alives, then page reads and task creation, then task status and the
 * creation and care of jobs, then listings.
 *
 * A keep-alive is due long before its search job is in danger of being cancelled. Until then keep-alives leave slightly more
 * than half of the requests to pages, if both wait: keeping the maximum number of jobs alive takes half of the rate
 * (`request-budget.ts`), and the other half reads them.
 *
 * No class starves: a class whose first request is late by `patienceMs` gets every second request, regardless of its rank, and
 * several late classes alternate. While jobs are in danger, their keep-alives get more, and late classes get every fourth
 * request. So a class waits for at most `patienceMs` and 24 requests.
 *
 * `request-budget.ts` chooses the key within a class, and `key-queue.ts` decides which classes may send.
 */
import type { RequestClass } from './request-slot.ts';

/** Rank of each class of requests; requests of the lowest rank are sent first. */
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

/** Delay in ms after which a class of waiting requests is served even if requests of more important classes wait. */
export const patienceMs = 2_000;
/**
 * Delay in ms after which a keep-alive of a search job precedes all other requests. A keep-alive is
 * due 12 s after the previous one. Sent 3.5 s later, it leaves time for a second attempt before the
 * service's limit of 20 s (3.1).
 */
const keepAliveSlackMs = 3_500;

/** Number of keep-alives per page request while both kinds wait, so that 48 of 100 requests are keep-alives. */
const pollsForPage = 12 / 13;
/**
 * Maximum number of consecutive keep-alives before a waiting page request, if few keep-alives wait.
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
  /**
   * Number of requests chosen by the rank of their class since the last request that was chosen because its class had waited
   * too long.
   */
  #inRank = 0;
  /** Number of keep-alives that may precede the waiting page requests. */
  #pollsAhead = mostPollsAhead;

  /**
   * Chooses one of the classes' first waiting requests, and counts it as started. Returns undefined
   * if no request waits.
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
   * Returns the request with the lowest weight. Among equal weights, it is the request whose class was served longest
   * ago.
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
