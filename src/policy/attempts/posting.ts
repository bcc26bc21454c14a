/**
 * Sends the requests (POST) for upgrades that the policy still wants (U2). Keeps the responses until they are stored in
 * the ledger. This process has at most one unanswered request per collector.
 */
import type { Clock } from '../../base/clock.ts';
import { asLogfleetError, failure, type LogfleetError } from '../../base/errors.ts';
import { type SetView, SparseMap, SparseSet } from '../../base/sparse.ts';
import type { UpgradeService } from '../../service/collectors/upgrade-service.ts';
import { taskRefusals } from '../../service/requests/service-code.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import type { Entry } from '../ledger/ledger.ts';
import type { PostOutcome } from './attempt.ts';
import type { ServiceBinding } from './service-binding.ts';
import type { PolicySettings } from './settings.ts';

export interface PostingPolicy {
  /**
   * Reports whether the policy still wants this upgrade. Called right before the request is sent.
   * @param generation generation of the policy's spec for which the upgrade was stored
   */
  stillWanted(entry: Entry, generation: number): boolean;
  /** Called when a request has been answered or has failed, so that a new decision evaluates the outcome. */
  scheduleDecision(): void;
  /** Called as soon as another decision may start more upgrades, but only if the last batch was full. */
  enqueue(): void;
  noteAccepted(entry: Entry, taskId: string): void;
}

export type PostingBinding = Pick<ServiceBinding, 'holdFor' | 'succeeded' | 'rereadBuilds'>;

export interface PostingEnvironment {
  readonly clock: Clock;
  readonly settings: PolicySettings;
}

/** Upgrades that were stored by one decision and are requested next. */
export interface PostBatch {
  readonly entries: readonly Entry[];
  /** Generation (`metadata.generation`) of the policy's spec when the upgrades were started. */
  readonly generation: number;
  /** Monotonic time in ms of the decision that started these upgrades. */
  readonly decidedAtMs: number;
  /** True if more upgrades could have started, but the batch was full. */
  readonly moreWait: boolean;
}

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
  /** Ledger entries of stored upgrades that have not been requested yet, by collector id. */
  readonly #waiting = new SparseMap<string, Entry>();
  /**
   * Collectors whose upgrade requests were rejected without a known reason, each with the number of rejections that came
   * from the service itself.
   */
  readonly #rejections = new SparseMap<string, number>();
  /**
   * Maximum number of stored attempts whose requests have not been sent yet (the batch size). It is lowered when an
   * attempt expires before its request is sent.
   */
  #batch: number;
  #moreWait = false;

  constructor(environment: PostingEnvironment, binding: PostingBinding, policy: PostingPolicy) {
    this.#environment = environment;
    this.#binding = binding;
    this.#policy = policy;
    this.#batch = environment.settings.batchSize;
  }

  /** Collectors with an unsent or unanswered upgrade request. */
  get inFlight(): SetView<string> {
    return this.#inFlight;
  }

  /** Number of stored upgrades whose first request has not been sent yet. */
  get unsent(): number {
    return [...this.#waiting.values()].filter(({ open }) => !open?.probe).length;
  }

  /** True if a request has been sent, and has not been answered yet. */
  get hasUnanswered(): boolean {
    return this.#inFlight.size > this.#waiting.size;
  }

  /** Responses to upgrade requests that no decision has evaluated yet, by collector id. */
  get received(): ReadonlyMap<string, ReceivedOutcome> {
    return this.#received;
  }

  /** Collectors whose upgrade requests were rejected without a known reason (U11). */
  get rejected(): Iterable<string> {
    return this.#rejections.keys();
  }

  /** True if every request has been answered and every response has been stored. */
  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#received.size === 0;
  }

  /**
   * Returns the number of upgrades that the next decision may start. Returns 0 while the number of unsent requests
   * exceeds a fifth of a full batch.
   */
  capacity(): number {
    return this.#waiting.size <= this.#batch / 5 ? this.#batch - this.#waiting.size : 0;
  }

  acknowledge(taken: ReadonlyMap<string, ReceivedOutcome>): void {
    for (const [id, received] of taken) if (this.#received.get(id) === received) this.#received.delete(id);
  }

  post(service: UpgradeService, batch: PostBatch): void {
    const { entries, moreWait } = batch;
    this.#moreWait = moreWait;
    for (const entry of entries) {
      this.#inFlight.add(entry.collectorId);
      this.#waiting.set(entry.collectorId, entry);
      void this.#send(service, entry, batch);
    }
  }

  /** Withdraws attempts whose requests have not been sent. */
  withdraw(entries: readonly Entry[]): void {
    for (const entry of entries) this.#received.set(entry.collectorId, { entry, outcome: { kind: 'notSent' } });
  }

  /** Yields the collectors with an upgrade that is stored in the ledger but was never requested. */
  *neverSent(): IterableIterator<string> {
    for (const [id, { open }] of this.#waiting) if (!open?.probe) yield id;
    for (const [id, { entry, outcome }] of this.#received)
      if (outcome.kind === 'notSent' && !entry.open?.probe) yield id;
  }

  close(): void {
    this.#abort.abort(new Error('the policy is no longer reconciled'));
  }

  async #send(service: UpgradeService, entry: Entry, { generation, decidedAtMs }: PostBatch): Promise<void> {
    const { collectorId, open } = entry;
    const { clock, settings } = this.#environment;
    const expiry = new AbortController();
    let sent = false;
    // An upgrade request that is not sent within `intentLifeMs` expires (U2).
    const lifeMs = Math.max(0, decidedAtMs + settings.intentLifeMs - clock.monotonic());
    const timer = clock.after(lifeMs, () => {
      if (!sent) expiry.abort(withdrawn('the request limits delayed the request for too long'));
    });
    const beforeSend = () => {
      if (!this.#policy.stillWanted(entry, generation)) throw withdrawn('the policy no longer wants this upgrade');
      // A request counts only once, even if it is sent again because of a redirect or a 401.
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
      const hasExpired = expiry.signal.aborted;
      outcome = hasExpired ? { kind: 'notSent' } : this.#classify(collectorId, asLogfleetError(thrown), sent);
    }
    if (outcome.kind === 'accepted' || outcome.kind === 'refused') this.#rejections.delete(collectorId);
    timer.cancel();
    if (this.#abort.signal.aborted) return;
    if (!sent) this.#left(collectorId, !expiry.signal.aborted);
    this.#inFlight.delete(collectorId);
    this.#received.set(collectorId, { entry, outcome });
    this.#policy.scheduleDecision();
  }

  #classify(collectorId: string, error: LogfleetError, sent: boolean): PostOutcome {
    if (error.code === withdrawnCode) return { kind: 'notSent' };
    if (!(error instanceof ServiceError)) return { kind: sent ? 'unknown' : 'notSent' };
    if (refusesCollector(error)) {
      // The service refuses the upgrade of this collector only. Its response shows that the service is working, so
      // earlier failures no longer count.
      this.#binding.succeeded('posts');
      if (error.serviceCode === 'collector.version.invalid') this.#binding.rereadBuilds();
      return { kind: 'refused', serviceCode: error.serviceCode ?? '', message: error.message };
    }
    // After a failure, no requests are sent for a while. This keeps the number of upgrades with an unknown outcome
    // small.
    this.#binding.holdFor(error, 'posts');
    if (this.#isRejectedTooOften(collectorId, error)) {
      const message = `${error.message}; the service rejected this request ${maxRejections} times`;
      return { kind: 'refused', serviceCode: '', message };
    }
    return { kind: error.effect === 'unknown' ? 'unknown' : 'notSent' };
  }

  /**
   * Counts a rejection without a known reason. Returns true if the service has now rejected so many upgrade requests for
   * this collector that the collector itself is probably the reason. A proxy's rejections do not count, because the
   * proxy may reject all requests.
   */
  #isRejectedTooOften(collectorId: string, { failure, hasForeignBody }: ServiceError): boolean {
    if (failure !== 'badRequest' && failure !== 'clientError') return false;
    const count = (this.#rejections.get(collectorId) ?? 0) + Number(!hasForeignBody);
    this.#rejections.set(collectorId, count);
    return count >= maxRejections;
  }

  /**
   * Removes an upgrade from the unsent upgrades, and adjusts the batch size. A request that was sent in time increases
   * the size by one. An expired request halves the size.
   */
  #left(collectorId: string, inTime: boolean): void {
    this.#waiting.delete(collectorId);
    const { batchSize } = this.#environment.settings;
    this.#batch = inTime ? Math.min(batchSize, this.#batch + 1) : Math.max(1, this.#batch >> 1);
    if (!this.#moreWait || this.capacity() === 0) return;
    this.#moreWait = false;
    this.#policy.enqueue();
  }
}

/** Number of rejections without a known reason after which a collector counts as refused (U11). */
const maxRejections = 10;

const withdrawnCode = 'attempt.withdrawn';

/**
 * Reports whether the service's refusal affects only this collector (section 7.5 of docs/service.md). A single response
 * with status 400 but without an error code does not count, because it may come from a proxy (see `maxRejections`).
 */
function refusesCollector({ effect, status, serviceCode }: ServiceError): boolean {
  if (effect !== 'none' || serviceCode === undefined) return false;
  return status === 400 || taskRefusals.some((code) => code === serviceCode);
}

function withdrawn(why: string): LogfleetError {
  const message = `The upgrade was cancelled before its request was sent to the service: ${why}.`;
  return failure('wait', withdrawnCode, message);
}
