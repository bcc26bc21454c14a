/**
 * When the status of a resource is written: at once where what decides is another, at most once in a while where only figures are, and
 * not at all where nothing is, since every write is an event for everybody who watches. With it go the events of transitions.
 *
 * Leaves to the kinds: what decides, and which figures are news.
 */
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { type Health, outageDueMs, transitionsTo } from './health.ts';

export type StatusOf<K extends KindName> = NonNullable<ResourceOf<K>['status']>;

/** What a kind has to say about its status. */
export interface StatusRules<K extends KindName> {
  readonly kind: K;
  /** What is written at once when it is another. */
  readonly verdicts: (status: StatusOf<K>) => unknown;
  /** Whether figures are worth a write; any that are not the same are, where absent. */
  readonly differs?: (before: StatusOf<K>, status: StatusOf<K>, wallMs: number) => boolean;
}

export interface StatusPublisherOptions<K extends KindName> {
  readonly rules: StatusRules<K>;
  readonly host: Host;
  readonly clock: Clock;
  /** Figures are written at most once in this time. */
  readonly intervalMs: number;
  readonly owner: OwnerRef;
  /** Whether this is the end: figures that are held back now are never written. */
  readonly draining: () => boolean;
}

interface Written<K extends KindName> {
  readonly status: StatusOf<K>;
  /** Of the resource: the one that it was written over, and the one that came of it. */
  readonly versions: readonly string[];
}

export class StatusPublisher<K extends KindName> {
  readonly #options: StatusPublisherOptions<K>;
  #written: Written<K> | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #heldBack = false;

  constructor(options: StatusPublisherOptions<K>) {
    this.#options = options;
  }

  /** Whether there are figures that wait to be written. */
  get heldBack(): boolean {
    return this.#heldBack;
  }

  /** The resource with the newest status that is known. */
  latest(resource: ResourceOf<K>): ResourceOf<K> {
    const status = this.known(resource);
    return status === resource.status || !status ? resource : { ...resource, status };
  }

  /** What we wrote last, where the cache may not have followed yet; but what somebody else has made of it since, as a restore. */
  known({ metadata, status }: ResourceOf<K>): StatusOf<K> | undefined {
    return this.#written?.versions.includes(metadata.resourceVersion)
      ? this.#written.status
      : (status as StatusOf<K> | undefined);
  }

  /**
   * Writes the status where it is due: `essentials` hold all that decides, `figures` the rest, which is computed only then. Returns
   * after how many ms to look again, for figures that are held back or an outage that will have lasted; Infinity otherwise. Without
   * `health` the verdict stays as it is: there is no transition to report, and no outage becomes a lasting one.
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
      // Somebody changed or deleted the resource meanwhile: the host will tell, and the next status is about that.
      if (error instanceof LogfleetError && (error.code === 'host.conflict' || error.code === 'host.gone')) return;
      // It may stand there all the same: the cache will tell.
      this.#written = undefined;
      throw error;
    }
    // The status that the cache has as well: a copy of each would double the memory of thousands of resources.
    const versions = [resource.metadata.resourceVersion, written.metadata.resourceVersion];
    this.#written = { status: (written.status as StatusOf<K> | undefined) ?? status, versions };
    this.#writtenAtMs = clock.monotonic();
    const { owner } = this.#options;
    for (const event of health ? transitionsTo(before?.conditions, status.conditions, health) : [])
      host.events.publish(owner, event);
  }
}
