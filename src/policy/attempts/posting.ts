/**
 * Sends the POSTs of attempts. A POST is sent only while all conditions of its attempt still hold (U2). Its outcome is kept here
 * until a written decision contains it.
 *
 * Invariant: a collector has at most one POST of this process in flight.
 */

import type { Clock } from '../../base/clock.ts';
import { asLogfleetError, LogfleetError } from '../../base/errors.ts';
import { type SetView, SparseMap, SparseSet } from '../../base/sparse.ts';
import type { UpgradeService } from '../../service/collectors/upgrade-service.ts';
import { taskRefusals } from '../../service/requests/service-code.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import type { Entry } from '../ledger/ledger.ts';
import type { PolicySettings } from '../settings.ts';
import type { PostOutcome } from './attempt.ts';

export interface PostingOptions {
  readonly clock: Clock;
  readonly settings: PolicySettings;
  /**
   * Whether the newest known version of the policy still wants this attempt, which was written ahead for this generation. Called
   * right before the socket write.
   */
  readonly stillWanted: (entry: Entry, generation: number) => boolean;
  /** An outcome arrived. */
  readonly onNews: () => void;
  /** There is room for more attempts, after a batch that left some waiting. */
  readonly onRoom: () => void;
  /** A POST failed for a reason that does not concern its collector. Nothing more should be posted for a while. */
  readonly onProblem: (error: LogfleetError) => void;
  readonly onAccepted: (entry: Entry, taskId: string) => void;
  /** The service refused a collector, so the service itself works. */
  readonly onRefused: () => void;
  /** The service refused the requested build (U11). */
  readonly onBuildRefused: () => void;
}

/** Attempts that were written ahead together. */
export interface Batch {
  readonly entries: readonly Entry[];
  /** Generation of the policy that wanted them. */
  readonly generation: number;
  /** Time of the decision, in monotonic ms. */
  readonly decidedAtMs: number;
  /** Whether more attempts would have been admitted with more room. */
  readonly moreWait: boolean;
}

/** Outcome of the POST of one attempt. */
export interface ReceivedOutcome {
  /** Entry as it was written ahead. */
  readonly entry: Entry;
  readonly outcome: PostOutcome;
}

export class Posting {
  readonly #options: PostingOptions;
  readonly #abort = new AbortController();
  readonly #inFlight = new SparseSet<string>();
  readonly #received = new SparseMap<string, ReceivedOutcome>();
  /** Entries that were written ahead and not sent yet, by collector. */
  readonly #waiting = new SparseMap<string, Entry>();
  /**
   * Number of attempts that are written ahead together. Smaller while other clients use the budget, so that no attempt expires in
   * the queue.
   */
  #batch: number;
  #moreWait = false;

  constructor(options: PostingOptions) {
    this.#options = options;
    this.#batch = options.settings.batchSize;
  }

  /** Collectors with an unanswered POST. */
  get inFlight(): SetView<string> {
    return this.#inFlight;
  }

  /** Number of attempts written ahead and not sent, without probes, whose attempts are already running. */
  get unsent(): number {
    return [...this.#waiting.values()].filter(({ open }) => !open?.probe).length;
  }

  /** Outcomes that no written decision contains yet, by collector. */
  get received(): ReadonlyMap<string, ReceivedOutcome> {
    return this.#received;
  }

  /** Number of attempts that may be written ahead now: 0 until most of the last batch was sent. */
  room(): number {
    return this.#waiting.size <= this.#batch / 5 ? this.#batch - this.#waiting.size : 0;
  }

  /** Drops outcomes that a written decision contains. */
  acknowledge(taken: ReadonlyMap<string, ReceivedOutcome>): void {
    for (const [id, received] of taken) if (this.#received.get(id) === received) this.#received.delete(id);
  }

  post(service: UpgradeService, batch: Batch): void {
    const { entries, moreWait } = batch;
    this.#moreWait = moreWait;
    for (const entry of entries) {
      this.#inFlight.add(entry.collectorId);
      this.#waiting.set(entry.collectorId, entry);
      void this.#send(service, entry, batch);
    }
  }

  /** Withdraws entries, also those that were already written ahead. */
  withdraw(entries: readonly Entry[]): void {
    for (const entry of entries) this.#received.set(entry.collectorId, { entry, outcome: { kind: 'notSent' } });
  }

  /** Collectors whose attempt was written ahead and was not sent or had no effect. */
  *neverSent(): IterableIterator<string> {
    for (const [id, { open }] of this.#waiting) if (!open?.probe) yield id;
    for (const [id, { entry, outcome }] of this.#received)
      if (outcome.kind === 'notSent' && !entry.open?.probe) yield id;
  }

  close(): void {
    this.#abort.abort(new Error('the policy is no longer looked after'));
  }

  async #send(service: UpgradeService, entry: Entry, { generation, decidedAtMs }: Batch): Promise<void> {
    const { collectorId, open } = entry;
    const { clock, settings, stillWanted } = this.#options;
    const expiry = new AbortController();
    let sent = false;
    // The lifetime counts from the decision (U2), because the write may take a while.
    const lifeMs = Math.max(0, decidedAtMs + settings.intentLifeMs - clock.monotonic());
    const timer = clock.after(lifeMs, () => {
      if (!sent) expiry.abort(withdrawn('it waited for its turn for too long'));
    });
    const beforeSend = () => {
      if (!stillWanted(entry, generation)) throw withdrawn('it is no longer wanted');
      // A redirected POST is written to a socket twice.
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
    this.#inFlight.delete(collectorId);
    this.#received.set(collectorId, { entry, outcome });
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
    // Without this, a service that answers no request would leave the whole fleet with unknown outcomes.
    this.#options.onProblem(error);
    return error.effect === 'unknown' ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };
  }

  /** Counts an attempt that left the queue. After a timely send the batch may grow again; after an expiry it shrinks. */
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

/** Whether the refusal concerns this collector (7.5). A 400 without a code may come from a proxy and concerns no collector. */
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
