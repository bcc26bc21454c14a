/**
 * Chooses the class of the next request: keep-alives of search jobs first, then page reads and the creation of upgrade
 * tasks (B3).
 *
 * If keep-alives and page reads are both waiting, page reads get slightly more than half of the requests, unless the
 * service is about to cancel a search job. A request of any class that has waited longer than `promotedAfterMs` is sent
 * soon.
 */
import type { RequestClass } from './request-slot.ts';

/** Rank of each request class. Requests of the class with the lowest rank are sent first. */
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

/** Waiting time in ms after which a request may be sent before requests with a higher priority. */
const promotedAfterMs = 2_000;
/**
 * Delay in ms after which a keep-alive is sent before all other requests, because the service cancels a job after 20 s
 * without requests (section 3.1 of docs/service.md).
 */
const keepAliveSlackMs = 3_500;

/** Number of keep-alives per page read while requests of both classes are waiting. */
const pollsForPage = 12 / 13;
/** Maximum number of consecutive keep-alives while a page read is waiting. */
const maxPollsAhead = 3;

/** First waiting request of a request class. */
export interface ClassHead {
  readonly class: RequestClass;
  /** Time in ms since the request was due; negative if it is not due yet. */
  readonly lateMs: number;
}

export class TurnOrder {
  #turn = 0;
  readonly #served = new Map<RequestClass, number>();
  /**
   * Number of requests sent in order of priority since the last exception. An exception is a request that is sent
   * earlier because it has waited too long.
   */
  #inRank = 0;
  /**
   * Number of keep-alives that may still be sent while a page read is waiting. If this number is below 1, the page read
   * is sent first.
   */
  #pollsAhead = maxPollsAhead;

  /**
   * Chooses the next request to send, and counts it as sent for its class. Returns undefined if no request is
   * waiting.
   */
  next<H extends ClassHead>(heads: readonly H[]): H | undefined {
    const poll = heads.find((head) => head.class === 'keepAlive');
    const page = heads.find((head) => head.class === 'pageRead');
    const endangered = poll !== undefined && poll.lateMs > keepAliveSlackMs;
    const givesWay = page !== undefined && !endangered && this.#pollsAhead < 1;
    const first = this.#min(givesWay ? heads.filter((head) => head !== poll) : heads, (head) => ranks[head.class]);
    if (!first) return undefined;
    const late = this.#min(
      heads.filter((head) => head !== first && head !== poll && head.lateMs >= promotedAfterMs),
      () => 0,
    );
    const outOfRank = late !== undefined && this.#inRank >= (endangered ? 3 : 1);
    this.#inRank = outOfRank ? 0 : this.#inRank + 1;
    const chosen = outOfRank ? late : first;
    this.#served.set(chosen.class, ++this.#turn);
    if (chosen === page) this.#pollsAhead = Math.min(maxPollsAhead, this.#pollsAhead + pollsForPage);
    else if (chosen === poll && page) this.#pollsAhead = Math.max(0, this.#pollsAhead - 1);
    return chosen;
  }

  /**
   * Returns the request for which `weigh` returns the lowest number. In case of a tie, returns the request whose class
   * has gone longest without being chosen.
   */
  #min<H extends ClassHead>(heads: readonly H[], weigh: (head: H) => number): H | undefined {
    let min: H | undefined;
    for (const head of heads) {
      const difference =
        min === undefined ? -1 : weigh(head) - weigh(min) || this.#servedAt(head) - this.#servedAt(min);
      if (difference < 0) min = head;
    }
    return min;
  }

  #servedAt(head: ClassHead): number {
    return this.#served.get(head.class) ?? 0;
  }
}
