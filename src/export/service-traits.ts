/**
 * What a service has shown of itself while exports searched it, shared by all exports of a service in this process that go by the same
 * time. Nothing of it is stored: a restart loses it, which costs a job and no row.
 */
import type { JobProgress } from '../service/job-gathering.ts';
import { smallestLimitAfter } from './cut.ts';

/** The factor of the next expected duration when a search was already done at its first look: its own duration is not known. */
const soonerPart = 0.99;

/** `Date` has whole seconds, and comes with an answer. */
export const dateRoundingMs = 1_500;

/** A search that begins, and when its end is to be looked for. */
export interface BegunSearch {
  /** How long after its creation it should be over; undefined where no search has shown it. */
  readonly expectedMs: number | undefined;
  /** Resolves when another search has shown how long searches take, or has failed. Absent where nothing is awaited. */
  readonly shown?: Promise<void>;
  /** Tells the searches beside it that its end was seen, or that it was given up. */
  readonly ends: () => void;
}

export class ServiceTraits {
  /** E10: a row was seen at the very end of a search; `to − 1` is sent from then on. */
  isEndInclusive = false;
  /** E7: false once pages that were read early had to be read again. */
  readsEarly = true;
  /** How long the newest count took, from its creation until it was seen to be done; undefined before the first. */
  countMs: number | undefined;
  #smallestLimit: number | undefined;
  #clockBehindMs = 0;
  #isDateKnown = false;
  #searchMs: number | undefined;
  /** Resolved at the end of the first search; undefined while no first search runs. */
  #first: PromiseWithResolvers<void> | undefined;

  /** The smallest message limit that the service has shown (E4); undefined before it has shown one. */
  get smallestLimit(): number | undefined {
    return this.#smallestLimit;
  }

  /** By how much the service's clock is behind ours, at least 0 (E11). */
  get clockBehindMs(): number {
    return this.#clockBehindMs;
  }

  /** How long searches take at most, mostly, from their creation until they are done; undefined before the first. */
  get searchMs(): number | undefined {
    return this.#searchMs;
  }

  /**
   * Registers a search that is about to begin. While nothing is known of the service, one search alone is looked at early. Searches that
   * begin beside it wait for its end: early looks at all of them would show the same.
   */
  begins(): BegunSearch {
    if (this.#searchMs !== undefined) return { expectedMs: this.#searchMs, ends: () => {} };
    if (this.#first) return { expectedMs: Number.POSITIVE_INFINITY, shown: this.#first.promise, ends: () => {} };
    const first = Promise.withResolvers<void>();
    this.#first = first;
    const ends = () => {
      if (this.#first === first) this.#first = undefined;
      first.resolve();
    };
    return { expectedMs: undefined, ends };
  }

  /** A search is over, or was given up. */
  searched(progress: JobProgress): void {
    this.#smallestLimit = smallestLimitAfter(progress, this.#smallestLimit);
  }

  /** A search was seen to be done so long after its creation, by its `looks`th status. */
  took(searchMs: number, looks: number): void {
    const isAsExpected = this.#searchMs !== undefined && looks <= 1;
    this.#searchMs = isAsExpected ? soonerPart * (this.#searchMs ?? searchMs) : searchMs;
  }

  /** As far as the service's clock may turn out to be behind without that being news; `Date` has whole seconds. */
  get foreseenBehindMs(): number {
    return this.#isDateKnown ? this.#clockBehindMs + dateRoundingMs : 0;
  }

  /** `dateMs` is what the service's clock said, in whole seconds, when ours said `nowMs`. */
  showedDate(dateMs: number, nowMs: number): void {
    this.#isDateKnown = true;
    this.#clockBehindMs = Math.max(0, nowMs - dateMs);
  }
}

/**
 * The traits of each service that was spoken to, by its id. What it shows by message time says nothing of searches by receipt time:
 * ends that are taken for inclusive and are not would lose rows (E10).
 */
export class TraitsOfServices {
  readonly #byService = new Map<string, ServiceTraits>();

  of(serviceId: string, byReceiptTime: boolean): ServiceTraits {
    const key = `${serviceId} ${byReceiptTime ? 'receipt' : 'message'}`;
    const known = this.#byService.get(key);
    if (known) return known;
    const traits = new ServiceTraits();
    this.#byService.set(key, traits);
    return traits;
  }
}
