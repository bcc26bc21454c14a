/**
 * Leader election through a Lease (`coordination.k8s.io`). The Lease lasts 15 s, must be renewed within 10 s, and is
 * renewed every 2 s.
 *
 *   Following ── Lease released, unchanged for 15 s, or absent for 10 s: written with own name ──▶ Leading
 *       ▲                                                                                  │ every 2 s: renewed
 *       ├── 10 s after the last successful renewal was sent (by own clock) ────────────────┤
 *       └── the Lease names another process; released on stop ─────────────────────────────┘
 *
 * Invariants:
 * - This process measures times with its own clocks, never with a time in the Lease. It measures the age of another
 *   process's Lease from the last change that it has seen. It measures the age of its own Lease from the moment at
 *   which the last renewal was *sent*. Age is measured on two clocks (wall clock and monotonic clock), and the higher
 *   value counts, because the monotonic clock stops while the machine sleeps.
 * - This process stops leading 5 s before another process may start, even if this process was suspended.
 * - Each write has an optimistic lock, so only one of two concurrent writes succeeds.
 * - The name of each process has a random suffix, so a process recognizes its own Lease even if the response to its
 *   write was lost.
 */
import { sameValue } from '../../base/canonical-text.ts';
import { elapsedMs, type Instant, instant, sleep, type Timer } from '../../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Ports } from '../../base/ports.ts';
import { randomHex } from '../../base/random.ts';
import type { Leadership } from '../host.ts';
import type { ApiClient, KubeObject } from './api-client.ts';
import { microTime, objectPath, operatorLeaseName, operatorVersionAnnotation } from './api-paths.ts';
import { fieldManager } from './resource-writes.ts';

/**
 * Duration of the Lease in ms. Another process takes over the Lease only if the Lease has not changed for this time.
 */
export const leaseDurationMs = 15_000;
/** Maximum time in ms for which this process remains the leader after its last renewal of the Lease. */
export const renewDeadlineMs = 10_000;
/**
 * Maximum duration in ms of a request that creates a Job, or an export as a run of a schedule. Such a request ends
 * before another process can become the leader, so the first list of the next leader contains everything that this
 * process has created.
 */
export const createDeadlineMs = leaseDurationMs - renewDeadlineMs;
const retryPeriodMs = 2_000;
/**
 * Delay in ms before a failed Lease renewal is retried. With this delay and `callDeadlineMs`, there is time for three
 * attempts before leadership ends.
 */
const hurriedRetryMs = 500;
const callDeadlineMs = 2_500;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** Content of the Lease, and the monotonic time in ms at which this process first saw this content. */
interface LeaseObservation {
  readonly spec: LeaseSpec;
  readonly sinceMs: number;
}

interface LeaseElectionOptions extends Ports {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Name of the pod or machine, shown in the Lease. */
  readonly identity: string;
  /** Version of logfleet, shown in a Lease annotation. */
  readonly version?: string;
}

export class LeaseElection implements Leadership {
  readonly #options: LeaseElectionOptions;
  readonly #holder: string;
  readonly #listeners = new Listeners();
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;
  #observation: LeaseObservation | undefined;
  /**
   * Monotonic time in ms at which this process first found that the Lease does not exist. It is used only until this
   * process has read the Lease for the first time.
   */
  #absentSinceMs: number | undefined;
  /** Metadata of the Lease, for the next write. Undefined if the Lease must be read before it is written. */
  #stored: Lease['metadata'] | undefined;
  /**
   * Time at which this process sent its last successful Lease renewal. Undefined while another process is the leader.
   */
  #renewedAt: Instant | undefined;
  #expiry: Timer | undefined;
  /**
   * True if this process has sent a request that writes the Lease. The Lease may then name this process as the leader,
   * even if there was no response.
   */
  #wrote = false;
  /** True if a warning has been logged since the Lease was last read or written successfully. */
  #warned = false;
  #term = 0;
  #forced = false;
  #steppedAtMs: number;

  constructor(options: LeaseElectionOptions) {
    this.#options = options;
    this.#steppedAtMs = options.clock.monotonic();
    this.#holder = `${options.identity}_${randomHex(options.random, 8)}`;
  }

  isLeader(): boolean {
    return this.#renewedAt !== undefined && elapsedMs(this.#options.clock, this.#renewedAt) < renewDeadlineMs;
  }

  term(): number {
    return this.#term;
  }

  tookOverByForce(): boolean {
    return this.#forced;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Monotonic time in ms of the last attempt to read or write the Lease. */
  get steppedAtMs(): number {
    return this.#steppedAtMs;
  }

  /** Competes for leadership until `release` is called. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends this process's leadership and releases the Lease, so that the next leader need not wait. Never rejects. */
  async release(): Promise<void> {
    this.#ended.abort(new Error('leader election has ended'));
    this.#follow();
    await this.#running;
    if (!this.#wrote) return;
    try {
      await this.#release();
    } catch (error) {
      this.#options.log.warn('the Lease was not released, so the next leader must wait until it expires', {
        error: asLogfleetError(error),
      });
    }
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      this.#steppedAtMs = clock.monotonic();
      if (!this.isLeader()) this.#follow();
      let pauseMs = retryPeriodMs;
      try {
        await this.#step(signal);
        this.#warned = false;
      } catch (error) {
        if (signal.aborted) return;
        this.#stored = undefined;
        this.#logFailure(asLogfleetError(error));
        if (this.#renewedAt !== undefined) pauseMs = hurriedRetryMs;
      }
      await sleep(clock, pauseMs * (0.9 + 0.2 * random.next()), signal).catch(() => undefined);
    }
  }

  /**
   * Logs that the Lease could not be read or written. Of several failures in a row, only the first is logged as a
   * warning. A conflict is never logged as a warning, because it means that another process holds the Lease.
   */
  #logFailure(error: LogfleetError): void {
    const isWarning = !this.#warned && error.code !== 'host.conflict';
    const { log, namespace } = this.#options;
    const message = 'the Lease could not be read or written, and no process can lead without it; logfleet will retry';
    log[isWarning ? 'warn' : 'debug'](message, { namespace, name: operatorLeaseName, error });
    this.#warned ||= isWarning;
  }

  /** Reads the Lease, and writes it if this process is allowed to lead. */
  async #step(signal: AbortSignal): Promise<void> {
    if (this.#stored === undefined || this.#renewedAt === undefined) {
      const lease = await this.#read(signal);
      if (!this.#mayWrite(lease)) {
        this.#follow();
        return;
      }
      this.#stored = lease?.metadata;
    }
    await this.#write(signal);
  }

  async #read(signal?: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, clock } = this.#options;
    const path = objectPath('leases', namespace, operatorLeaseName);
    const lease = await client.findObject<Lease>(path, { ...(signal && { signal }), deadlineMs: callDeadlineMs });
    if (!lease) {
      this.#absentSinceMs ??= clock.monotonic();
      return undefined;
    }
    const spec = lease.spec ?? {};
    if (!this.#observation || !sameValue(this.#observation.spec, spec)) {
      this.#observation = { spec, sinceMs: clock.monotonic() };
    }
    return lease;
  }

  /**
   * Reports whether this process may write the Lease. It may do so if the Lease has no holder, already names this
   * process, or has expired. If there is no Lease, this process first waits for `renewDeadlineMs`.
   */
  #mayWrite(lease: Lease | undefined): boolean {
    const nowMs = this.#options.clock.monotonic();
    if (!this.#observation) return lease === undefined && nowMs - (this.#absentSinceMs ?? nowMs) >= renewDeadlineMs;
    const { spec, sinceMs } = this.#observation;
    const holder = spec.holderIdentity ?? '';
    if (holder === '' || holder === this.#holder) return true;
    const expiryMs = Math.max(leaseDurationMs, (spec.leaseDurationSeconds ?? 0) * 1_000);
    return nowMs - sinceMs >= expiryMs;
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const previous = this.#observation?.spec ?? {};
    const before = previous.holderIdentity ?? '';
    // A leader that ends normally removes its name from the Lease. If the Lease still names another process, or does
    // not exist, the takeover counts as forced.
    if (before !== this.#holder) this.#forced = before !== '' || this.#stored === undefined;
    const sentAt = instant(clock);
    const time = microTime(clock.now());
    const own = before === this.#holder;
    this.#wrote = true;
    const lease = await this.#put(
      {
        holderIdentity: this.#holder,
        leaseDurationSeconds: leaseDurationMs / 1_000,
        acquireTime: own ? (previous.acquireTime ?? time) : time,
        renewTime: time,
        leaseTransitions: own ? (previous.leaseTransitions ?? 0) : (previous.leaseTransitions ?? -1) + 1,
      },
      signal,
    );
    this.#stored = lease.metadata;
    this.#observation = { spec: lease.spec ?? {}, sinceMs: sentAt.monotonicMs };
    if (!signal.aborted) this.#lead(sentAt);
  }

  #put(spec: LeaseSpec, signal?: AbortSignal): Promise<Lease> {
    const { client, namespace, version } = this.#options;
    const stored = this.#stored;
    const metadata = { name: operatorLeaseName, namespace, ...stored };
    const annotations = { ...stored?.annotations, ...(version && { [operatorVersionAnnotation]: version }) };
    return client.callForObject<Lease>({
      method: stored ? 'PUT' : 'POST',
      path: objectPath('leases', namespace, stored && operatorLeaseName),
      query: { fieldManager },
      body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...metadata, annotations }, spec },
      deadlineMs: callDeadlineMs,
      ...(signal && { signal }),
    });
  }

  #lead(sentAt: Instant): void {
    const { clock } = this.#options;
    const lapsed = !this.isLeader();
    this.#renewedAt = sentAt;
    this.#expiry?.cancel();
    // The delay is rounded up, because a timer that fires just before the deadline would not end the leadership.
    this.#expiry = clock.after(Math.ceil(renewDeadlineMs - elapsedMs(clock, sentAt)) + 1, () => {
      if (!this.isLeader()) this.#follow();
    });
    if (!lapsed || !this.isLeader()) return;
    this.#term++;
    this.#options.log.info('this process leads', { term: this.#term, tookOverByForce: this.#forced });
    this.#notify();
  }

  #follow(): void {
    this.#expiry?.cancel();
    if (this.#renewedAt === undefined) return;
    this.#renewedAt = undefined;
    this.#options.log.info('this process no longer leads', { term: this.#term });
    this.#notify();
  }

  /** Releases the Lease if it names this process. */
  async #release(): Promise<void> {
    const { clock } = this.#options;
    const lease = await this.#read();
    if (lease?.spec?.holderIdentity !== this.#holder) return;
    this.#stored = lease.metadata;
    const time = microTime(clock.now());
    await this.#put({ ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: time });
    this.#options.log.info('the lease was released');
  }

  #notify(): void {
    this.#listeners.notify(undefined, (error) => {
      this.#options.log.error('a listener of leadership failed', { error });
    });
  }
}

/**
 * Leadership for `--no-leader-election`: this process always leads. Its start counts as a forced takeover, because the
 * previous process may have crashed.
 */
export function soleLeadership(): Leadership {
  return { isLeader: () => true, term: () => 1, tookOverByForce: () => true, subscribe: () => () => undefined };
}
