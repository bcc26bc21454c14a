/**
 * Which class of request goes next (B3): a keep-alive poll before everything; then page reads and task creation; then task status
 * and the creation and care of jobs; then listings.
 *
 * A poll is due long before its job is in danger. Until then polls leave pages a little more than half of what goes while both wait:
 * as many jobs as may be active need half of the rate (`request-budget.ts`), and are to be read with the other half.
 *
 * No class starves: one whose head is late by `patienceMs` gets every second start, whatever outranks it, and several such
 * take turns. Only keep-alive polls that are themselves in danger leave it no more than every fourth. So a class waits
 * for `patienceMs` and 24 starts at most.
 *
 * Leaves to others: which key goes next within a class (`request-budget.ts`), and which classes may go at all (`key-lane.ts`).
 */
import type { RequestClass } from './request-slot.ts';

export const requestClasses = [
  'keepAlive',
  'pageRead',
  'taskCreation',
  'taskStatus',
  'jobCreation',
  'jobCare',
  'listing',
] as const satisfies readonly RequestClass[];

const ranks: Readonly<Record<RequestClass, number>> = {
  keepAlive: 0,
  pageRead: 1,
  taskCreation: 1,
  taskStatus: 2,
  jobCreation: 2,
  jobCare: 2,
  listing: 3,
};

/** How late a class may be before it goes ahead of those that outrank it. */
export const patienceMs = 2_000;
/**
 * How late a keep-alive poll may be before others have to stand back for it. Due 12 s after the last one and sent 3.5 s later,
 * it has time for a second try before the service's 20 s of silence (3.1).
 */
const keepAliveSlackMs = 3_500;

/** For each page that goes, so much of a poll may go ahead of the next: 48 of 100 starts are polls where both wait all the time. */
const pollsForPage = 12 / 13;
/** So many polls in a row go ahead of pages, where few of them wait at all. */
const mostPollsAhead = 3;

/** The next one of a class that may go now. */
export interface ClassHead {
  readonly class: RequestClass;
  /** How long ago it was due; negative when it is not due yet. */
  readonly lateMs: number;
}

export class TurnOrder {
  #turn = 0;
  readonly #served = new Map<RequestClass, number>();
  /** Starts in order of rank since the last one out of it. */
  #inRank = 0;
  /** How many polls may go ahead of pages that wait. */
  #pollsAhead = mostPollsAhead;

  /** Chooses among the heads, at most one of each class, and takes the choice as started. Undefined when there is none. */
  next<H extends ClassHead>(heads: readonly H[]): H | undefined {
    const poll = heads.find((head) => head.class === 'keepAlive');
    const page = heads.find((head) => head.class === 'pageRead');
    const endangered = poll !== undefined && poll.lateMs > keepAliveSlackMs;
    const standsBack = page !== undefined && !endangered && this.#pollsAhead < 1;
    const first = this.#least(standsBack ? heads.filter((head) => head !== poll) : heads, (head) => ranks[head.class]);
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

  /** The head of the least weight; of several, the one whose class was served longest ago. */
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
