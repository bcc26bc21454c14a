/**
 * Decides when the status of a resource is written, because every write is sent to all watchers of the resource. A change of the health
 * verdict is written immediately, changed counts and estimates at limited intervals, and an unchanged status never. Also publishes Events
 * about changes of the health verdict.
 */
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { type Health, outageDueMs, transitionsTo } from './health.ts';

export type StatusOf<K extends KindName> = NonNullable<ResourceOf<K>['status']>;

export interface StatusRules<K extends KindName> {
  readonly kind: K;
  /** Fields of status whose change is written at once. */
  readonly verdicts: (status: StatusOf<K>) => unknown;
  /**
   * Returns whether the counts in two statuses differ enough to be written. Without this function, every change of counts is
   * written.
   */
  readonly differs?: (before: StatusOf<K>, status: StatusOf<K>, wallMs: number) => boolean;
}

export interface StatusWriterOptions<K extends KindName> {
  readonly rules: StatusRules<K>;
  readonly host: Host;
  readonly clock: Clock;
  /** Minimum interval in ms between two writes of a status in which only counts have changed. */
  readonly intervalMs: number;
  readonly owner: OwnerRef;
  /** Returns whether the process is about to end. Changed counts are then written at once, because no later write can follow. */
  readonly draining: () => boolean;
}

interface Written<K extends KindName> {
  readonly status: StatusOf<K>;
  /**
   * Resource versions right before and right after this status was written. If the cache has one of these versions, its
   * status is not newer than the written one.
   */
  readonly versions: readonly string[];
}

export class StatusWriter<K extends KindName> {
  readonly #options: StatusWriterOptions<K>;
  #written: Written<K> | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #heldBack = false;
  #isOutdated = false;
  /** Status before the first write that got no answer. That write may have taken effect, but no Event has reported it yet. */
  #unreported: { readonly status: StatusOf<K> | undefined } | undefined;

  constructor(options: StatusWriterOptions<K>) {
    this.#options = options;
  }

  get heldBack(): boolean {
    return this.#heldBack;
  }

  /** True if the last write of the status failed, because another writer had changed or deleted the resource. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Resource with the newest status that this process knows. The cache may have an older status. */
  latest(resource: ResourceOf<K>): ResourceOf<K> {
    const status = this.known(resource);
    return status === resource.status || !status ? resource : { ...resource, status };
  }

  /**
   * Newest known status of the resource. This is the status that this process wrote last, because the cache may be older. If
   * another writer has replaced that status, for example by a restore, the status in the cache is the newest.
   */
  known({ metadata, status }: ResourceOf<K>): StatusOf<K> | undefined {
    return this.#written?.versions.includes(metadata.resourceVersion)
      ? this.#written.status
      : (status as StatusOf<K> | undefined);
  }

  /**
   * Writes the status of the resource if a write is due.
   * - `essentials` contain the fields of the health verdict.
   * - `figures` returns the other fields, such as counts. It is called only when needed.
   * - Without `health`, no Event is published.
   * Returns the delay in ms until the next call, which writes delayed counts or sets the condition `Outage`. Infinity
   * if no further call is needed.
   */
  async publish(
    resource: ResourceOf<K>,
    essentials: StatusOf<K>,
    figures: () => StatusOf<K>,
    health: Health | undefined,
  ): Promise<number> {
    const { host, clock, intervalMs, draining, rules } = this.#options;
    this.#isOutdated = false;
    const before = this.known(resource);
    const waitMs = this.#writtenAtMs + intervalMs - clock.monotonic();
    const sameVerdicts = sameValue(rules.verdicts(before ?? ({} as StatusOf<K>)), rules.verdicts(essentials));
    this.#heldBack = waitMs > 0 && !draining() && sameVerdicts;
    const dueMs = health ? outageDueMs(essentials, clock.now()) : Number.POSITIVE_INFINITY;
    if (this.#heldBack) return Math.min(waitMs, dueMs);
    const status = { ...essentials, ...figures() };
    if (!before || this.#differs(before, status)) await this.#write(resource, status, before, health);
    else if (health) {
      host.confirmStatus?.(rules.kind, resource);
      this.#report(before, status, health);
    }
    return dueMs;
  }

  /**
   * If the resource already shows this status, tells this to the host and returns the delay in ms until the next check.
   * Returns undefined if the status must be written.
   */
  confirm(resource: ResourceOf<K>, essentials: StatusOf<K>, figures: () => StatusOf<K>): number | undefined {
    const before = this.known(resource);
    const status = { ...essentials, ...figures() };
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
      // Another writer has changed or deleted the resource. The host reports this change, and a new status is then computed.
      this.#isOutdated =
        error instanceof LogfleetError && (error.code === 'host.conflict' || error.code === 'host.gone');
      if (this.#isOutdated) return;
      // It is unknown whether the status was written, so the status in the cache is used.
      this.#written = undefined;
      this.#unreported ??= { status: before };
      throw error;
    }
    // The cache uses the same status object, because copies of the statuses of thousands of resources would double the
    // memory.
    const versions = [resource.metadata.resourceVersion, written.metadata.resourceVersion];
    this.#written = { status: (written.status as StatusOf<K> | undefined) ?? status, versions };
    this.#writtenAtMs = clock.monotonic();
    if (health) this.#report(before, status, health);
  }

  /**
   * Publishes Events about the changes since the status `before`, or since an older status if its changes are not reported
   * yet.
   */
  #report(before: StatusOf<K> | undefined, status: StatusOf<K>, health: Health): void {
    const { host, owner } = this.#options;
    const reported = this.#unreported ? this.#unreported.status : before;
    this.#unreported = undefined;
    for (const event of transitionsTo(reported?.conditions, status.conditions, health))
      host.events.publish(owner, event);
  }
}
