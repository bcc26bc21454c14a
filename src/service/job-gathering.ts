/**
 * What the statuses of one job have brought together: each hands out its errors, warnings and buckets once (2.3), so that they are
 * kept here; and whether one was lost on its way, with whatever it held (protocol E5). Bounded, whatever the service sends.
 */
import { type Histogram, JobHistogram } from './job-histogram.ts';
import type { JobState, JobStatus } from './search-service.ts';
import type { Answer } from './upgrade-service.ts';

/** So many different texts are kept, the first ones, and so many characters of each. */
const maxTexts = 100;
const maxTextLength = 1_000;
/** Says that the search was cut at the message limit (10.2). */
const limitReached = /max(?:imum)?\s+results\s+reached/i;

/** Different texts, in the order in which they came. */
export interface GatheredTexts {
  readonly texts: readonly string[];
  /** Whether there were more than are kept. */
  readonly isCut: boolean;
}

/** What is known of a job at a moment. */
export interface JobProgress {
  readonly state: JobState;
  readonly messageCount: number;
  /** Undefined where the service counts messages alone. */
  readonly recordCount: number | undefined;
  readonly scannedBytes: number | undefined;
  readonly errors: GatheredTexts;
  /** Those that the status, the creation and pages carried by themselves, too. */
  readonly warnings: GatheredTexts;
  /**
   * The service has said that the message limit cut the search: it is FORCE PAUSED, or a warning said so. False proves nothing, since
   * a service may say nothing (10.2, protocol E4).
   */
  readonly isLimitReached: boolean;
  /** The answer to a status request was lost, and maybe an error with it: the job proves nothing (protocol E5). */
  readonly isTainted: boolean;
  /** Statuses that were answered. */
  readonly statuses: number;
  /**
   * What the service's clock said with the answer that came last, or with the creation; undefined where that said nothing, or came late:
   * an older one says by now how old it is, and not how far that clock is behind. See `Answer.dateMs`.
   */
  readonly dateMs: number | undefined;
}

class Texts {
  readonly #texts = new Set<string>();
  #isCut = false;

  add(text: string): void {
    const kept = text.slice(0, maxTextLength);
    if (this.#texts.has(kept)) return;
    if (this.#texts.size < maxTexts) this.#texts.add(kept);
    else this.#isCut = true;
  }

  read(): GatheredTexts {
    return { texts: [...this.#texts], isCut: this.#isCut };
  }
}

export class JobGathering {
  readonly #errors = new Texts();
  readonly #warnings = new Texts();
  readonly #histogram = new JobHistogram();
  #state: JobState = 'notStarted';
  #messageCount = 0;
  #recordCount: number | undefined;
  #scannedBytes: number | undefined;
  /** A warning said that the message limit was reached. */
  #isLimitWarned = false;
  #isTainted = false;
  #statuses = 0;
  #dateMs: number | undefined;
  /** When the status was asked for that is taken as the newest. */
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #idleAtMs: number | undefined;

  /** `dateMs` of the job's creation. */
  constructor(dateMs?: number) {
    this.#dateMs = dateMs;
  }

  /** When the newest status was asked for that showed that the search itself had not begun; undefined where none did. */
  get idleAtMs(): number | undefined {
    return this.#idleAtMs;
  }

  /**
   * The part of [fromMs, toMs) that the search has covered, 0 to 1; undefined while nothing shows it. A job works from the end of its range
   * to the beginning. Its histogram may run ahead of its results (`doneGatheringHistogram`, 3.1): of what that covers only so much
   * counts as its messages are found.
   */
  donePart({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): number | undefined {
    const { reachedMs } = this.#histogram;
    const { total } = this.#histogram.read(this.#messageCount);
    if (reachedMs === undefined || total === 0 || toMs <= fromMs) return undefined;
    const found = Math.min(1, this.#messageCount / total);
    if (this.#state === 'doneGatheringHistogram' && found === 1) return undefined;
    return found * Math.min(1, Math.max(0, (toMs - reachedMs) / (toMs - fromMs)));
  }

  /**
   * Of one that comes late, after one that was asked for later, only what is handed out once counts. Returns whether it is the newest.
   */
  take({ value: status, sentAtMs, dateMs }: Answer<JobStatus>): boolean {
    this.#statuses++;
    const isNewest = sentAtMs >= this.#askedAtMs;
    this.#dateMs = isNewest ? dateMs : undefined;
    if (isNewest) {
      this.#askedAtMs = sentAtMs;
      this.#state = status.state;
      if (isIdle(status.state)) this.#idleAtMs = sentAtMs;
      this.#messageCount = status.messageCount;
      this.#recordCount = status.recordCount ?? this.#recordCount;
      this.#scannedBytes = status.scannedBytes ?? this.#scannedBytes;
    }
    this.#histogram.add(status.buckets);
    for (const text of status.pendingErrors) this.#errors.add(text);
    for (const text of status.pendingWarnings) this.warn(text);
    this.warn(status.warning);
    return isNewest;
  }

  /** A warning from elsewhere than a status. */
  warn(text: string | undefined): void {
    if (text === undefined) return;
    this.#warnings.add(text);
    this.#isLimitWarned ||= limitReached.test(text);
  }

  /** A status was asked for, and its answer did not come. */
  lost(): void {
    this.#isTainted = true;
  }

  progress(): JobProgress {
    return {
      state: this.#state,
      messageCount: this.#messageCount,
      recordCount: this.#recordCount,
      scannedBytes: this.#scannedBytes,
      errors: this.#errors.read(),
      warnings: this.#warnings.read(),
      isLimitReached: this.#isLimitWarned || this.#state === 'forcePaused',
      isTainted: this.#isTainted,
      statuses: this.#statuses,
      dateMs: this.#dateMs,
    };
  }

  histogram(): Histogram {
    return this.#histogram.read(this.#messageCount);
  }
}

/** What it searches is still to be found out, or nothing is done at all. */
function isIdle(state: JobState): boolean {
  return state === 'notStarted' || state === 'gatheringSubqueries';
}
