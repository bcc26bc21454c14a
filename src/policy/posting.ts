/**
 * Attempts on their way to the service. A POST goes out only while everything still holds that it was written ahead for (U2);
 * what became of it waits here until a decision has been made of it and written.
 *
 * Invariant: a collector has at most one POST on its way in this process.
 */

import type { Clock } from '../base/clock.ts';
import { asLogfleetError, LogfleetError } from '../base/errors.ts';
import { type SetView, SparseMap, SparseSet } from '../base/sparse.ts';
import { taskRefusals } from '../service/service-code.ts';
import { ServiceError } from '../service/service-error.ts';
import type { UpgradeService } from '../service/upgrade-service.ts';
import type { PostOutcome } from './attempt.ts';
import type { Entry } from './ledger.ts';
import type { PolicySettings } from './settings.ts';

export interface PostingOptions {
  readonly clock: Clock;
  readonly settings: PolicySettings;
  /**
   * Whether this attempt, which was written ahead for this generation of the policy, is still wanted by the newest that is known;
   * asked right before the socket write.
   */
  readonly stillWanted: (entry: Entry, generation: number) => boolean;
  /** An outcome came in. */
  readonly onNews: () => void;
  /** There is room for more, where the last batch left some waiting. */
  readonly onRoom: () => void;
  /** A POST failed for a reason that is not about its collector: nothing more should be tried for a while. */
  readonly onProblem: (error: LogfleetError) => void;
  readonly onAccepted: (entry: Entry, taskId: string) => void;
  /** The service refused a collector, and so is well. */
  readonly onRefused: () => void;
  /** The service would not have the build that was asked for (U11). */
  readonly onBuildRefused: () => void;
}

/** Attempts that were written ahead together. */
export interface Batch {
  readonly entries: readonly Entry[];
  /** Of the policy that wanted them. */
  readonly generation: number;
  /** When it was decided, on the monotonic clock. */
  readonly decidedAtMs: number;
  /** Whether there would have been more, had there been room. */
  readonly moreWait: boolean;
}

/** What became of the POST of one attempt. */
export interface HeardOutcome {
  /** As it was written ahead. */
  readonly entry: Entry;
  readonly outcome: PostOutcome;
}

export class Posting {
  readonly #options: PostingOptions;
  readonly #abort = new AbortController();
  readonly #flying = new SparseSet<string>();
  readonly #heard = new SparseMap<string, HeardOutcome>();
  /** Written ahead, and not sent yet; by collector. */
  readonly #waiting = new SparseMap<string, Entry>();
  /** How many are written ahead at once: fewer where others use the budget, too, so that none waits longer than it may. */
  #batch: number;
  #moreWait = false;

  constructor(options: PostingOptions) {
    this.#options = options;
    this.#batch = options.settings.batchSize;
  }

  /** Collectors whose POST has not been answered. */
  get flying(): SetView<string> {
    return this.#flying;
  }

  /** How many attempts were written ahead and not sent yet, apart from probes, whose attempts run already. */
  get unsent(): number {
    return [...this.#waiting.values()].filter(({ open }) => !open?.probe).length;
  }

  /** Outcomes that no written decision has taken in yet, by collector. */
  get heard(): ReadonlyMap<string, HeardOutcome> {
    return this.#heard;
  }

  /** How many more may be written ahead now: none until most of the last batch has been sent. */
  room(): number {
    return this.#waiting.size <= this.#batch / 5 ? this.#batch - this.#waiting.size : 0;
  }

  /** Outcomes that a written decision has taken in. */
  acknowledge(taken: ReadonlyMap<string, HeardOutcome>): void {
    for (const [id, heard] of taken) if (this.#heard.get(id) === heard) this.#heard.delete(id);
  }

  post(service: UpgradeService, batch: Batch): void {
    const { entries, moreWait } = batch;
    this.#moreWait = moreWait;
    for (const entry of entries) {
      this.#flying.add(entry.collectorId);
      this.#waiting.set(entry.collectorId, entry);
      void this.#send(service, entry, batch);
    }
  }

  /** These will not be posted, although they may have been written ahead. */
  withdraw(entries: readonly Entry[]): void {
    for (const entry of entries) this.#heard.set(entry.collectorId, { entry, outcome: { kind: 'notSent' } });
  }

  /** Collectors that nothing is in flight for, although an attempt was written ahead: it was not sent, or had no effect. */
  *neverSent(): IterableIterator<string> {
    for (const [id, { open }] of this.#waiting) if (!open?.probe) yield id;
    for (const [id, { entry, outcome }] of this.#heard) if (outcome.kind === 'notSent' && !entry.open?.probe) yield id;
  }

  close(): void {
    this.#abort.abort(new Error('the policy is no longer looked after'));
  }

  async #send(service: UpgradeService, entry: Entry, { generation, decidedAtMs }: Batch): Promise<void> {
    const { collectorId, open } = entry;
    const { clock, settings, stillWanted } = this.#options;
    const expiry = new AbortController();
    let sent = false;
    // From the decision on (U2): writing it down may have taken a while.
    const lifeMs = Math.max(0, decidedAtMs + settings.intentLifeMs - clock.monotonic());
    const timer = clock.after(lifeMs, () => {
      if (!sent) expiry.abort(withdrawn('it waited for its turn for too long'));
    });
    const beforeSend = () => {
      if (!stillWanted(entry, generation)) throw withdrawn('it is no longer wanted');
      // A redirected POST is written twice.
      if (!sent) this.#left(collectorId, true);
      sent = true;
    };
    let outcome: PostOutcome;
    try {
      const { value } = await service.createTask(
        { collectorId, toVersion: open?.toVersion ?? '' },
        { beforeSend, signal: AbortSignal.any([this.#abort.signal, expiry.signal]) },
      );
      outcome = { kind: 'accepted', taskId: value.taskId };
      this.#options.onAccepted(entry, value.taskId);
    } catch (thrown) {
      const expired = !sent && expiry.signal.aborted;
      outcome = expired ? { kind: 'notSent' } : this.#classify(asLogfleetError(thrown), sent);
    }
    timer.cancel();
    if (this.#abort.signal.aborted) return;
    if (!sent) this.#left(collectorId, !expiry.signal.aborted);
    this.#flying.delete(collectorId);
    this.#heard.set(collectorId, { entry, outcome });
    this.#options.onNews();
  }

  #classify(error: LogfleetError, sent: boolean): PostOutcome {
    if (error.code === withdrawnCode) return { kind: 'notSent' };
    if (!(error instanceof ServiceError))
      return sent ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };
    if (refusesCollector(error)) {
      this.#options.onRefused();
      if (error.serviceCode === 'collector.version.invalid') this.#options.onBuildRefused();
      return { kind: 'refused', serviceCode: error.serviceCode ?? '', message: error.message };
    }
    // A service that answers nobody would leave the whole fleet with unknown outcomes.
    this.#options.onProblem(error);
    return error.effect === 'unknown' ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };
  }

  /** One is no longer waiting. In time: the batch may grow again; too late: it was too large. */
  #left(collectorId: string, inTime: boolean): void {
    this.#waiting.delete(collectorId);
    const { batchSize } = this.#options.settings;
    this.#batch = inTime ? Math.min(batchSize, this.#batch + 1) : Math.max(1, this.#batch >> 1);
    if (!this.#moreWait || this.room() === 0) return;
    this.#moreWait = false;
    this.#options.onRoom();
  }
}

const withdrawnCode = 'attempt.withdrawn';

/** Whether it is about this collector (7.5). A 400 without a code may be of a proxy before the service, and says nothing about any. */
function refusesCollector({ effect, status, serviceCode }: ServiceError): boolean {
  if (effect !== 'none' || serviceCode === undefined) return false;
  return status === 400 || taskRefusals.some((code) => code === serviceCode);
}

function withdrawn(why: string): LogfleetError {
  return new LogfleetError({
    code: withdrawnCode,
    message: `The attempt was withdrawn before it was sent: ${why}.`,
    handling: { kind: 'wait' },
  });
}
