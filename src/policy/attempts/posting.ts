/**
 * Sends the POSTs that request upgrades, each only if the policy still wants the upgrade (U2). The outcome of a POST is kept
 * here until it is stored in the ledger.
 *
 * Invariant: a collector has at most one unanswered POST of this process.
 */

import { asLogfleetError, failure, type LogfleetError } from '../../base/errors.ts';
import { type SetView, SparseMap, SparseSet } from '../../base/sparse.ts';
import type { UpgradeService } from '../../service/collectors/upgrade-service.ts';
import { taskRefusals } from '../../service/requests/service-code.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import type { Entry } from '../ledger/ledger.ts';
import type { PolicyEnvironment } from '../policy-environment.ts';
import type { ServiceBinding } from '../service-binding.ts';
import type { PostOutcome } from './attempt.ts';

/** Policy on whose behalf POSTs are sent. */
export interface PostingPolicy {
  /**
   * Whether the policy still wants this upgrade, which it started at the given generation of its spec. Called immediately
   * before the POST is sent.
   */
  stillWanted(entry: Entry, generation: number): boolean;
  /** Called when the outcome of a POST has arrived. */
  noteNews(): void;
  /** Called when more POSTs can be sent. Only needed if the last decision left out upgrades because the batch was full. */
  enqueue(): void;
  noteAccepted(entry: Entry, taskId: string): void;
}

export type PostingBinding = Pick<ServiceBinding, 'holdFor' | 'succeeded' | 'doubtBuilds'>;

export type PostingEnvironment = Pick<PolicyEnvironment, 'clock' | 'settings'>;

/** Attempts that were stored in the ledger together and wait to be sent. */
export interface Batch {
  readonly entries: readonly Entry[];
  /** Generation (`metadata.generation`) of the policy that started these attempts. */
  readonly generation: number;
  /** Monotonic time in ms of the decision that started these attempts. */
  readonly decidedAtMs: number;
  /** Whether the decision left out further attempts because the batch was full. */
  readonly moreWait: boolean;
}

/** Outcome of the POST of one upgrade attempt. */
export interface ReceivedOutcome {
  readonly entry: Entry;
  readonly outcome: PostOutcome;
}

export class Posting {
  readonly #environment: PostingEnvironment;
  readonly #binding: PostingBinding;
  readonly #policy: PostingPolicy;
  readonly #abort = new AbortController();
  readonly #inFlight = new SparseSet<string>();
  readonly #received = new SparseMap<string, ReceivedOutcome>();
  /** Ledger entries by collector, for attempts that are stored and not sent yet. */
  readonly #waiting = new SparseMap<string, Entry>();
  /**
   * Maximum number of attempts that are stored in the ledger and wait to be sent. When other clients delay the POSTs, the
   * maximum is lowered, so that no stored attempt expires.
   */
  #batch: number;
  #moreWait = false;

  constructor(environment: PostingEnvironment, binding: PostingBinding, policy: PostingPolicy) {
    this.#environment = environment;
    this.#binding = binding;
    this.#policy = policy;
    this.#batch = environment.settings.batchSize;
  }

  /** Collectors whose upgrade POST waits to be sent, or was sent and is not answered yet. */
  get inFlight(): SetView<string> {
    return this.#inFlight;
  }

  /**
   * Number of attempts that are stored in the ledger and not sent. Repeated POSTs (probes) are not counted, because the first
   * POST may have started the upgrade.
   */
  get unsent(): number {
    return [...this.#waiting.values()].filter(({ open }) => !open?.probe).length;
  }

  /** Outcomes of POSTs by collector. An outcome is kept until a stored decision contains it. */
  get received(): ReadonlyMap<string, ReceivedOutcome> {
    return this.#received;
  }

  /** Whether no POST waits for its answer, and no outcome waits to be stored. */
  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#received.size === 0;
  }

  /** Number of attempts that may be stored in the ledger now; 0 while the unsent attempts are more than a fifth of a batch. */
  room(): number {
    return this.#waiting.size <= this.#batch / 5 ? this.#batch - this.#waiting.size : 0;
  }

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

  /** Withdraws attempts before they are sent, including attempts that are already stored in the ledger. */
  withdraw(entries: readonly Entry[]): void {
    for (const entry of entries) this.#received.set(entry.collectorId, { entry, outcome: { kind: 'notSent' } });
  }

  /** Collectors with a stored upgrade attempt that has certainly not started: its POST was never sent or had no effect. */
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
    const { clock, settings } = this.#environment;
    const expiry = new AbortController();
    let sent = false;
    // An attempt that is not sent expires a fixed time after the decision that started it (U2). This includes the time for
    // writing the ledger, which may take a while.
    const lifeMs = Math.max(0, decidedAtMs + settings.intentLifeMs - clock.monotonic());
    const timer = clock.after(lifeMs, () => {
      if (!sent) expiry.abort(withdrawn('it waited for its turn for too long'));
    });
    const beforeSend = () => {
      if (!this.#policy.stillWanted(entry, generation)) throw withdrawn('it is no longer wanted');
      // A redirected POST is sent twice, but counts as one sent attempt.
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
      this.#policy.noteAccepted(entry, value.taskId);
    } catch (thrown) {
      const expired = !sent && expiry.signal.aborted;
      outcome = expired ? { kind: 'notSent' } : this.#classify(asLogfleetError(thrown), sent);
    }
    timer.cancel();
    if (this.#abort.signal.aborted) return;
    if (!sent) this.#left(collectorId, !expiry.signal.aborted);
    this.#inFlight.delete(collectorId);
    this.#received.set(collectorId, { entry, outcome });
    this.#policy.noteNews();
  }

  #classify(error: LogfleetError, sent: boolean): PostOutcome {
    if (error.code === withdrawnCode) return { kind: 'notSent' };
    if (!(error instanceof ServiceError))
      return sent ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };
    if (refusesCollector(error)) {
      // The service refused only this collector, which shows that the service itself works.
      this.#binding.succeeded('posts');
      if (error.serviceCode === 'collector.version.invalid') this.#binding.doubtBuilds();
      return { kind: 'refused', serviceCode: error.serviceCode ?? '', message: error.message };
    }
    // After a failure of the service, no POST is sent for a while, so that the outcome stays unknown for only a few
    // collectors.
    this.#binding.holdFor(error, 'posts');
    return error.effect === 'unknown' ? { kind: 'unknown', message: error.message } : { kind: 'notSent' };
  }

  /**
   * Adapts the size of a batch of POSTs: larger by one after a POST that was sent in time, and half as large after a POST
   * that expired unsent.
   */
  #left(collectorId: string, inTime: boolean): void {
    this.#waiting.delete(collectorId);
    const { batchSize } = this.#environment.settings;
    this.#batch = inTime ? Math.min(batchSize, this.#batch + 1) : Math.max(1, this.#batch >> 1);
    if (!this.#moreWait || this.room() === 0) return;
    this.#moreWait = false;
    this.#policy.enqueue();
  }
}

const withdrawnCode = 'attempt.withdrawn';

/**
 * Whether the service refused the upgrade of this collector only (7.5). False for an answer 400 without an error code,
 * because the answer may come from a proxy.
 */
function refusesCollector({ effect, status, serviceCode }: ServiceError): boolean {
  if (effect !== 'none' || serviceCode === undefined) return false;
  return status === 400 || taskRefusals.some((code) => code === serviceCode);
}

function withdrawn(why: string): LogfleetError {
  const message = `The upgrade was cancelled before its request was sent to the service: ${why}.`;
  return failure('wait', withdrawnCode, message);
}
