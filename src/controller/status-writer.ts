/**
 * Decides when the status of a resource is written. Changes in health are written immediately. Changes that affect only
 * counts are written at a minimum interval.
 */
import { createHash } from 'node:crypto';
import { findCondition } from '../api/conditions.ts';
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { hasCode } from '../base/errors.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { type Health, isInterrupted, outageDueMs, transitionsTo } from './health.ts';

/** Delay in ms before the next reconcile if another program's change has prevented a status write. */
const outdatedDelayMs = 1_000;

export type StatusOf<K extends KindName> = NonNullable<ResourceOf<K>['status']>;

export interface StatusRules<K extends KindName> {
  readonly kind: K;
  /** Returns the status fields whose changes are written immediately. */
  readonly verdicts: (status: StatusOf<K>) => unknown;
  /**
   * Returns true if the counts in two statuses differ so much that the new status must be written. Without this
   * function, every change is written.
   */
  readonly differs?: (before: StatusOf<K>, status: StatusOf<K>, wallMs: number) => boolean;
  /**
   * Returns texts that distinguish states with the same reason, such as the time at which a rollout stopped. A new text
   * means that something has happened, for example that another run has failed. If this function is missing, the reason
   * alone identifies the state.
   */
  readonly stateDetails?: (status: StatusOf<K>) => readonly string[];
  /**
   * State that only interrupts another state, like a pause. `reason` is the condition reason of the interruption. `of`
   * is the condition reason of the interrupted state, to which the resource later returns.
   */
  readonly interruption?: { readonly reason: string; readonly of: string };
}

export interface StatusWriterOptions<K extends KindName> {
  readonly rules: StatusRules<K>;
  readonly host: Host;
  readonly clock: Clock;
  /** Minimum interval in ms between two writes in which only counts have changed. */
  readonly intervalMs: number;
  readonly owner: OwnerRef;
  /** Reports whether the process is about to end. If so, changed counts are written immediately. */
  readonly draining: () => boolean;
}

interface WrittenStatus<K extends KindName> {
  readonly status: StatusOf<K>;
  /** Resource versions immediately before and after this status was written. */
  readonly versions: readonly string[];
}

export class StatusWriter<K extends KindName> {
  readonly #options: StatusWriterOptions<K>;
  #written: WrittenStatus<K> | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #heldBack = false;
  #isOutdated = false;
  /**
   * Status before a failed write. The next Events report all changes since this status, because the API server may have
   * stored the new status although the write failed.
   */
  #unreported: { readonly status: StatusOf<K> | undefined } | undefined;

  constructor(options: StatusWriterOptions<K>) {
    this.#options = options;
  }

  get heldBack(): boolean {
    return this.#heldBack;
  }

  /** True if the last write failed because another program had changed or deleted the resource. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /**
   * Returns the resource with its newest known status. The status in the cache may be older than the status that this
   * process last wrote.
   */
  latest(resource: ResourceOf<K>): ResourceOf<K> {
    const status = this.known(resource);
    return status === resource.status || !status ? resource : { ...resource, status };
  }

  /**
   * Returns the newest known status. Usually, this is the status that this process last wrote. If another program has
   * changed the resource since then, it is the status in the cache.
   */
  known({ metadata, status }: ResourceOf<K>): StatusOf<K> | undefined {
    return this.#written?.versions.includes(metadata.resourceVersion)
      ? this.#written.status
      : (status as StatusOf<K> | undefined);
  }

  /** Reports whether the status may be written even if only counts have changed. */
  isDue(): boolean {
    return this.#waitMs() === 0 || this.#options.draining();
  }

  #waitMs(): number {
    const { clock, intervalMs } = this.#options;
    return Math.max(0, this.#writtenAtMs + intervalMs - clock.monotonic());
  }

  /**
   * Writes the status of the resource if a write is due. Returns the delay in ms until the next call, or Infinity if no
   * more calls are needed.
   * @param essentials fields of the status that describe the health of the resource
   * @param figures returns the other fields of the status, such as counts, or undefined to skip the write; called only
   * if a write is allowed now
   * @param health health to publish as an Event; if undefined, no Event is published
   */
  async publish(
    resource: ResourceOf<K>,
    essentials: StatusOf<K>,
    figures: () => StatusOf<K> | undefined,
    health: Health | undefined,
  ): Promise<number> {
    const { host, clock, rules } = this.#options;
    this.#isOutdated = false;
    const before = this.known(resource);
    const sameVerdicts = sameValue(rules.verdicts(before ?? ({} as StatusOf<K>)), rules.verdicts(essentials));
    const dueMs = health ? outageDueMs(essentials, clock.now()) : Number.POSITIVE_INFINITY;
    const others = this.isDue() || !sameVerdicts ? figures() : undefined;
    this.#heldBack = others === undefined;
    if (!others) return Math.min(this.#waitMs(), dueMs);
    const status = this.#keepState(before, { ...essentials, ...others });
    if (!before || this.#differs(before, status)) {
      await this.#write(resource, status, before, health);
      this.#heldBack = this.#isOutdated;
      // This delay is a fallback. Usually, the other program's change triggers the next reconcile earlier.
      if (this.#isOutdated) return Math.min(outdatedDelayMs, dueMs);
    } else if (health) {
      host.confirmStatus?.(rules.kind, resource);
      this.#report(before, status, health);
    }
    return dueMs;
  }

  /**
   * Checks whether the resource already shows this status. If so, reports this to the host (cluster or directory), and
   * returns the delay in ms until the next check. If the status must be written, returns undefined.
   */
  confirm(resource: ResourceOf<K>, essentials: StatusOf<K>, figures: StatusOf<K>): number | undefined {
    const before = this.known(resource);
    const status = this.#keepState(before, { ...essentials, ...figures });
    if (!before || this.#unreported || this.#differs(before, status)) return undefined;
    this.#heldBack = false;
    const { host, clock, rules } = this.#options;
    host.confirmStatus?.(rules.kind, resource);
    return outageDueMs(status, clock.now());
  }

  #differs(before: StatusOf<K>, status: StatusOf<K>): boolean {
    const { rules, clock } = this.#options;
    return rules.differs ? rules.differs(before, status, clock.now()) : !sameValue(before, status);
  }

  async #write(
    resource: ResourceOf<K>,
    status: StatusOf<K>,
    before: StatusOf<K> | undefined,
    health: Health | undefined,
  ): Promise<void> {
    const { host, clock, rules } = this.#options;
    let written: ResourceOf<K>;
    try {
      written = await host.writeStatus(rules.kind, { ...resource, status });
    } catch (error) {
      // Another program has changed or deleted the resource. The host (cluster or directory) reports this to the
      // controller, which then computes a new status.
      this.#isOutdated = hasCode(error, 'host.conflict', 'host.gone');
      if (this.#isOutdated) return;
      // The API server may have stored the status although the write failed. Therefore, the next call uses the status
      // in the cache.
      this.#written = undefined;
      this.#unreported ??= { status: before };
      throw error;
    }
    // Uses the same status object as the cache. Copies of thousands of statuses would double the memory usage.
    const versions = [resource.metadata.resourceVersion, written.metadata.resourceVersion];
    this.#written = { status: (written.status as StatusOf<K> | undefined) ?? status, versions };
    this.#writtenAtMs = clock.monotonic();
    if (health) this.#report(before, status, health);
  }

  /**
   * Publishes Events for the changes since the status `before`, and for earlier changes that have no Event yet. A
   * pause, an outage or a restart of this process only interrupts a state. When the resource returns to the interrupted
   * state, the Event is marked (`isSameState`).
   */
  #report(before: StatusOf<K> | undefined, status: StatusOf<K>, health: Health): void {
    const { host, owner } = this.#options;
    const reported = this.#unreported ? this.#unreported.status : before;
    this.#unreported = undefined;
    const events = transitionsTo(reported?.conditions, status.conditions, health, this.#hasNews(reported, status));
    const isSameState = events.length > 0 && this.#stateOf(reported) === this.#stateOf(status);
    for (const event of events) host.events.publish(owner, { ...event, isSameState });
  }

  /**
   * Returns true if something new has happened in the same state, that is, if `status` has state details that `before`
   * does not have.
   */
  #hasNews(before: StatusOf<K> | undefined, status: StatusOf<K>): boolean {
    if (!before || this.#hidesState(before) || this.#hidesState(status)) return false;
    const { stateDetails = () => [] } = this.#options.rules;
    const known = new Set(stateDetails(before));
    return stateDetails(status).some((detail) => !known.has(detail));
  }

  /**
   * Adds the interrupted state to a status that shows an interruption, such as a pause. Removes the interrupted state
   * from all other statuses.
   */
  #keepState(before: StatusOf<K> | undefined, status: StatusOf<K>): StatusOf<K> {
    const { interruptedState: _, ...others } = status;
    const state = this.#interrupts(before, status) ? this.#stateOf(before) : undefined;
    return { ...others, ...(state !== undefined && { interruptedState: state }) } as StatusOf<K>;
  }

  /**
   * Returns true if a status shows an interruption: a pause, an outage, unread data, or the interruption in the
   * `StatusRules` of the resource's kind.
   */
  #interrupts(before: StatusOf<K> | undefined, status: StatusOf<K>): boolean {
    if (isInterrupted(status)) return true;
    const { interruption } = this.#options.rules;
    if (!before || findCondition(status.conditions, 'Ready')?.reason !== interruption?.reason) return false;
    return interruption !== undefined && this.#stateOf(before) === this.#hashOf(interruption.of, before);
  }

  /** Returns true if a status shows an interruption, such as a pause, instead of the resource's state. */
  #hidesState(status: StatusOf<K>): boolean {
    return isInterrupted(status) || status.interruptedState !== undefined;
  }

  /**
   * Returns a hash of the state that the status shows. During an interruption, returns the hash of the interrupted
   * state. Returns undefined if the state is unknown.
   */
  #stateOf(status: StatusOf<K> | undefined): string | undefined {
    if (!status || this.#hidesState(status)) return status?.interruptedState;
    const ready = findCondition(status.conditions, 'Ready');
    return ready && this.#hashOf(ready.reason, status);
  }

  #hashOf(reason: string, status: StatusOf<K>): string {
    const state = JSON.stringify([reason, this.#options.rules.stateDetails?.(status)]);
    return createHash('sha256').update(state).digest('hex').slice(0, 32);
  }
}
