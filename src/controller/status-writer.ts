/**
 * Decides when the status of a resource is written, because each write is an event for all watchers: at once after a change of the
 * verdict, at limited intervals after a change of figures, otherwise not at all. Also publishes the Events of transitions.
 *
 * The kinds define which fields belong to the verdict, and which changes of figures count.
 */
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { type Health, outageDueMs, transitionsTo } from './health.ts';

export type StatusOf<K extends KindName> = NonNullable<ResourceOf<K>['status']>;

/** Rules of a kind for its status. */
export interface StatusRules<K extends KindName> {
  readonly kind: K;
  /** Fields whose change is written at once. */
  readonly verdicts: (status: StatusOf<K>) => unknown;
  /** Whether a change of figures is worth a write; absent when any change is. */
  readonly differs?: (before: StatusOf<K>, status: StatusOf<K>, wallMs: number) => boolean;
}

export interface StatusWriterOptions<K extends KindName> {
  readonly rules: StatusRules<K>;
  readonly host: Host;
  readonly clock: Clock;
  /** Minimum interval between writes of figures. */
  readonly intervalMs: number;
  readonly owner: OwnerRef;
  /** Whether the process is about to end, so that held-back figures would never be written. */
  readonly draining: () => boolean;
}

interface Written<K extends KindName> {
  readonly status: StatusOf<K>;
  /** Resource versions for which this status is the newest: the one it replaced, and the one it created. */
  readonly versions: readonly string[];
}

export class StatusWriter<K extends KindName> {
  readonly #options: StatusWriterOptions<K>;
  #written: Written<K> | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #heldBack = false;

  constructor(options: StatusWriterOptions<K>) {
    this.#options = options;
  }

  /** Whether figures wait to be written. */
  get heldBack(): boolean {
    return this.#heldBack;
  }

  /** The resource with its newest known status. */
  latest(resource: ResourceOf<K>): ResourceOf<K> {
    const status = this.known(resource);
    return status === resource.status || !status ? resource : { ...resource, status };
  }

  /**
   * The status written last by this process, when the cache may be behind. The status of the cache when another writer has replaced
   * it since, for example by a restore.
   */
  known({ metadata, status }: ResourceOf<K>): StatusOf<K> | undefined {
    return this.#written?.versions.includes(metadata.resourceVersion)
      ? this.#written.status
      : (status as StatusOf<K> | undefined);
  }

  /**
   * Writes the status when it is due. `essentials` have all fields of the verdict; `figures` have the rest and are computed only
   * when needed. Returns the delay in ms until the next check, for held-back figures or an outage that becomes a lasting one;
   * Infinity otherwise. Without `health` the verdict stays, no transition is reported, and no outage becomes a lasting one.
   */
  async publish(
    resource: ResourceOf<K>,
    essentials: StatusOf<K>,
    figures: () => StatusOf<K>,
    health: Health | undefined,
  ): Promise<number> {
    const { host, clock, intervalMs, draining, rules } = this.#options;
    const before = this.known(resource);
    const waitMs = this.#writtenAtMs + intervalMs - clock.monotonic();
    const sameVerdicts = sameValue(rules.verdicts(before ?? ({} as StatusOf<K>)), rules.verdicts(essentials));
    this.#heldBack = waitMs > 0 && !draining() && sameVerdicts;
    if (this.#heldBack) return waitMs;
    const status = { ...essentials, ...figures() };
    if (!before || this.#differs(before, status)) await this.#write(resource, status, before, health);
    else if (health) host.confirmStatus?.(rules.kind, resource);
    return health ? outageDueMs(status, clock.now()) : Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the delay in ms until the next check when the resource already shows this status, so that nothing is written; undefined
   * when it shows another status.
   */
  confirm(resource: ResourceOf<K>, essentials: StatusOf<K>, figures: () => StatusOf<K>): number | undefined {
    const before = this.known(resource);
    const status = { ...essentials, ...figures() };
    if (!before || this.#differs(before, status)) return undefined;
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
      // Another writer changed or deleted the resource. The host reports the change, and the next status is based on it.
      if (error instanceof LogfleetError && (error.code === 'host.conflict' || error.code === 'host.gone')) return;
      // The write may have succeeded. The cache will show the result.
      this.#written = undefined;
      throw error;
    }
    // Shares the status object with the cache. A copy of each would double the memory of thousands of resources.
    const versions = [resource.metadata.resourceVersion, written.metadata.resourceVersion];
    this.#written = { status: (written.status as StatusOf<K> | undefined) ?? status, versions };
    this.#writtenAtMs = clock.monotonic();
    const { owner } = this.#options;
    for (const event of health ? transitionsTo(before?.conditions, status.conditions, health) : [])
      host.events.publish(owner, event);
  }
}
