/**
 * Detects other operators that manage the same resources (L2). Each operator writes an entry to `status.operators` of
 * each resource. The other operators see this entry through their watches.
 *
 * The operator whose entry has the earliest `since` acts on the resource. Each operator writes the same
 * `since`, its earliest, to all shared resources. So one of two operators acts on all of them, and both together send
 * no more requests than one would. To ask the other operators whether they are still running, an operator writes a
 * `seen` time that is later than the times in their entries. A running operator answers by copying that time into its
 * own entry. An operator that does not answer within a minute counts as gone. An operator that has shown no sign of
 * life for ten minutes is asked again.
 *
 * Invariants:
 * - A waiting operator treats the resource as if it did not exist.
 * - An operator that waits in a namespace leaves new resources there to the other operator.
 * - A single operator sends no additional writes. Two operators write one question and one answer every ten minutes.
 * - Reconcilers do not see entries.
 */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../../api/conditions.ts';
import type { OperatorEntry } from '../../api/generated/collector-version-policy.ts';
import type { AnyResource, KindName, ResourceOf } from '../../api/kinds.ts';
import type { Timer } from '../../base/clock.ts';
import { asLogfleetError, hasCode } from '../../base/errors.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { listText } from '../../base/list-text.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Gauge } from '../../base/metrics.ts';
import { wordFor } from '../../base/number-text.ts';
import type { Ports } from '../../base/ports.ts';
import { compareText } from '../../base/text-order.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import type { EventSink, Leadership, ResourceKey, ResourceSource } from '../host.ts';

type Status = NonNullable<AnyResource['status']>;

/** Parts of a resource's status that operators use to detect each other. Reconcilers do not see these parts. */
interface Hidden {
  readonly entries: readonly OperatorEntry[];
  readonly condition: Condition | undefined;
}

interface OtherOperator {
  /**
   * Monotonic time in ms at which this process last saw the other operator's entry change. -Infinity if it has not seen
   * a change yet.
   */
  readonly heardAtMs: number;
  /**
   * Monotonic time in ms at which this operator asked the other operator whether it is still running. Undefined if no
   * answer is pending.
   */
  askedAtMs?: number;
  /** True if the other operator has not answered within `responseMs` when asked whether it is still running. */
  isGone?: boolean;
}

/**
 * Time limit in ms for another operator to answer that it is still running. It is long enough to elect a new leader.
 */
export const responseMs = 60_000;
/** Time in ms without a sign of life after which another operator is asked whether it is still running. */
export const askAgainMs = 600_000;
const checkIntervalMs = 5_000;
/**
 * Delay in ms between a change to a resource and the check of the operator entries in its status. Without this delay,
 * the check could read an older version of the resource from the cache.
 */
const changeDelayMs = 100;
const nothing: Hidden = { entries: [], condition: undefined };

interface OperatorEntriesOptions extends Omit<Ports, 'random'> {
  /** Namespace of this operator's Lease. */
  readonly self: string;
  readonly events: EventSink;
  readonly leadership: Leadership;
  readonly resources: () => Iterable<AnyResource>;
  readonly newest: (kind: KindName, key: ResourceKey) => AnyResource | undefined;
  /** Writes the status of a resource, including the operator entries that `show` adds. */
  readonly write: (resource: AnyResource) => Promise<unknown>;
}

export class OperatorEntries {
  readonly #options: OperatorEntriesOptions;
  /**
   * Other operators, by name and namespace (see `otherKey`). The namespace is part of the key, because an operator can
   * stop watching one namespace while it continues to watch another.
   */
  readonly #others = new Map<string, OtherOperator>();
  readonly #hidden = new WeakMap<AnyResource, Hidden>();
  readonly #listeners = new Map<KindName, Listeners<ResourceKey>>();
  readonly #gauge: Gauge;
  /**
   * Earliest `since` in this operator's entries. The operator with the earliest `since` acts on resources that several
   * operators manage. Undefined if this operator has no entries.
   */
  #since: string | undefined;
  /**
   * Resource whose status is being written to ask the other operators whether they are still running. Undefined if no
   * such write is in progress.
   */
  #question: AnyResource | undefined;
  #isChecking = false;
  #nextCheck: { readonly atMs: number; readonly timer: Timer } | undefined;
  #isClosed = false;

  constructor(options: OperatorEntriesOptions) {
    this.#options = options;
    const help = 'Number of operators in other namespaces that manage the same resources as this operator.';
    this.#gauge = options.metrics.gauge('logfleet_other_operators', help, []);
    this.#gauge.set({}, 0);
    options.leadership.subscribe(() => void this.#check());
  }

  close(): void {
    this.#isClosed = true;
    this.#nextCheck?.timer.cancel();
  }

  /**
   * Removes the operator entries from the status of a resource that was read from the API server. The entries show
   * which other operators are running.
   * @param before last known version of the resource
   */
  hide<R extends AnyResource>(resource: R, before: AnyResource | undefined): R {
    const { operators = [], conditions: all, ...status } = (resource.status ?? {}) as Status;
    if (operators.length === 0) return resource;
    const condition = findCondition(all, 'OtherOperator');
    const conditions = removeCondition(all, 'OtherOperator');
    const bare = { ...resource, status: { ...status, ...(conditions.length > 0 && { conditions }) } } as R;
    this.#hidden.set(bare, { entries: operators, condition });
    this.#learn(bare, before?.metadata.uid === resource.metadata.uid ? before : undefined);
    return bare;
  }

  /** Returns the resource with a status that contains the entries of all running operators. */
  show<R extends AnyResource>(resource: R): R {
    const known = this.#options.newest(resource.kind, resource.metadata);
    const { condition } = this.#hiddenOf(known);
    const foreign = this.#running(known);
    const operators = [this.#ownEntry(known, foreign), ...foreign].sort(compareEntries);
    const status = { ...(resource.status as Status), operators };
    if (foreign.length === 0) return { ...resource, status };
    const change = { type: 'OtherOperator', status: 'True', reason: reasons.otherOperator } as const;
    const { generation: observedGeneration } = resource.metadata;
    const conditions = setCondition(
      [...(status.conditions ?? []), ...(condition ? [condition] : [])],
      { ...change, message: messageOf(operators), observedGeneration },
      isoSeconds(this.#options.clock.now()),
    );
    return { ...resource, status: { ...status, conditions } };
  }

  /** Returns a view of the cache that contains only resources on which no other operator acts. */
  ours<K extends KindName>(
    kind: K,
    cache: ResourceSource<ResourceOf<K>>,
  ): Omit<ResourceSource<ResourceOf<K>>, 'synced' | 'whenSynced'> {
    const listeners = getOrAdd(this.#listeners, kind, () => new Listeners());
    const isOurs = (resource: ResourceOf<K>) => !this.#isForeign(resource);
    return {
      *list() {
        for (const resource of cache.list()) if (isOurs(resource)) yield resource;
      },
      get(key) {
        const resource = cache.get(key);
        return resource && isOurs(resource) ? resource : undefined;
      },
      subscribe(listener) {
        const stops = [cache.subscribe(listener), listeners.add(listener)];
        return () => {
          for (const stop of stops) stop();
        };
      },
    };
  }

  /**
   * Reports whether another operator acts on the resource. The operator that acts on an owner also acts on the
   * resources that the owner owns.
   */
  #isForeign(resource: AnyResource): boolean {
    if (this.#others.size === 0) return false;
    const { namespace, owner } = resource.metadata;
    const owning = owner && this.#options.newest(owner.kind, { namespace, name: owner.name });
    if (owning && owning.metadata.uid === owner.uid) return this.#isForeign(owning);
    const own = this.#own(resource);
    const running = this.#running(resource);
    if (!own && running.length === 0) return this.#isForeignNamespace(namespace);
    return running.some((entry) => !own || compareEntries(entry, own) < 0);
  }

  /**
   * Reports whether another operator acts on the resources in this namespace. Used for new resources, whose status has
   * no entries yet.
   */
  #isForeignNamespace(namespace: string): boolean {
    for (const each of this.#options.resources()) {
      if (each.metadata.namespace !== namespace) continue;
      const own = this.#own(each);
      const running = this.#running(each);
      if (own && running.length > 0) return running.some((entry) => compareEntries(entry, own) < 0);
    }
    return false;
  }

  #isGone(name: string, resource: AnyResource): boolean {
    return this.#others.get(otherKey(name, resource))?.isGone === true;
  }

  /** Returns the entries of the other running operators. */
  #running(resource: AnyResource | undefined): readonly OperatorEntry[] {
    return this.#foreign(resource).filter(({ name }) => resource && !this.#isGone(name, resource));
  }

  #hiddenOf(resource: AnyResource | undefined): Hidden {
    return (resource && this.#hidden.get(resource)) ?? nothing;
  }

  #own(resource: AnyResource | undefined): OperatorEntry | undefined {
    return this.#hiddenOf(resource).entries.find(({ name }) => name === this.#options.self);
  }

  #foreign(resource: AnyResource | undefined): readonly OperatorEntry[] {
    return this.#hiddenOf(resource).entries.filter(({ name }) => name !== this.#options.self);
  }

  /**
   * Learns from the entries in a resource's status which other operators are running. An operator counts as running if
   * its entry has changed.
   */
  #learn(resource: AnyResource, before: AnyResource | undefined): void {
    const foreign = this.#foreign(resource);
    if (foreign.length === 0) return;
    const known = this.#foreign(before);
    const own = this.#own(resource);
    if (own) this.#since = this.#earliest(own.since);
    // Another operator has removed this operator's entry, because this operator did not answer in time. This operator
    // therefore gets a new `since`, as it would after a restart.
    else if (this.#own(before)) this.#since = undefined;
    for (const { name, seen } of foreign) {
      const isChanged = before !== undefined && known.find((entry) => entry.name === name)?.seen !== seen;
      const key = otherKey(name, resource);
      const other = this.#others.get(key) ?? { heardAtMs: Number.NEGATIVE_INFINITY };
      if (own && own.seen > seen) other.askedAtMs ??= this.#options.clock.monotonic();
      if (isChanged) this.#hear(name, resource);
      else this.#others.set(key, other);
    }
    this.#checkAfter(changeDelayMs);
  }

  #hear(name: string, resource: AnyResource): void {
    const { clock, log, events, self } = this.#options;
    const { kind, metadata } = resource;
    const key = otherKey(name, resource);
    const known = this.#others.get(key);
    if (!known || known.isGone || known.heardAtMs < 0) {
      log.warn('another operator manages the same resources', { operator: name, self });
    }
    this.#others.set(key, { heardAtMs: clock.monotonic() });
    this.#announce(known?.isGone === true);
    const message = messageOf([...this.#hiddenOf(resource).entries].sort(compareEntries));
    events.publish({ kind, ...metadata }, { type: 'Warning', reason: reasons.otherOperator, message });
  }

  /**
   * Updates the metric that counts other operators. If `isChanged` is true, calls the listeners for each resource on
   * which a different operator may now be acting.
   */
  #announce(isChanged: boolean): void {
    const running = [...this.#others].filter(([, { isGone }]) => !isGone).map(([key]) => key.split(' ')[0]);
    this.#gauge.set({}, new Set(running).size);
    if (!isChanged) return;
    for (const resource of this.#options.resources()) {
      if (this.#own(resource) && this.#foreign(resource).length === 0) continue;
      this.#notify(resource);
    }
  }

  #notify({ kind, metadata }: AnyResource): void {
    this.#listeners.get(kind)?.notify(metadata);
  }

  #checkAfter(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonic() + delayMs;
    if (this.#isClosed || (this.#nextCheck && this.#nextCheck.atMs <= atMs)) return;
    this.#nextCheck?.timer.cancel();
    this.#nextCheck = { atMs, timer: clock.after(delayMs, () => void this.#check()) };
  }

  /**
   * Marks each operator that did not answer in time as gone. Then writes this operator's missing or outdated entries,
   * and asks silent operators whether they are still running.
   */
  async #check(): Promise<void> {
    this.#nextCheck = undefined;
    if (this.#others.size === 0 || this.#isClosed) return;
    if (!this.#isChecking) {
      this.#isChecking = true;
      const nowMs = this.#options.clock.monotonic();
      const overdue = [...this.#others.values()].filter(
        ({ isGone, askedAtMs = nowMs }) => !isGone && nowMs - askedAtMs >= responseMs,
      );
      for (const other of overdue) other.isGone = true;
      // `#announce` is called only once for all overdue operators, because each call goes through all resources.
      if (overdue.length > 0) this.#announce(true);
      await this.#writeDue(nowMs);
      this.#isChecking = false;
    }
    this.#checkAfter(checkIntervalMs);
  }

  async #writeDue(nowMs: number): Promise<void> {
    const { leadership, resources, newest, write, log } = this.#options;
    const asked = new Set<string>();
    for (const { kind, metadata } of resources()) {
      const resource = newest(kind, metadata);
      if (!resource) continue;
      if (!leadership.isLeader() || this.#isClosed) return;
      const silent = this.#foreign(resource).filter(
        ({ name }) => !asked.has(otherKey(name, resource)) && this.#isSilent(name, resource, nowMs),
      );
      if (silent.length === 0 && !this.#isDue(resource)) continue;
      for (const { name } of silent) asked.add(otherKey(name, resource));
      this.#question = silent.length > 0 ? resource : undefined;
      const wasForeign = this.#isForeign(resource);
      try {
        await write(resource);
        const written = newest(kind, metadata);
        // The listeners must be called here, because the cache does not call them for this process's own writes.
        if (written && wasForeign !== this.#isForeign(written)) this.#notify(written);
      } catch (error) {
        if (hasCode(error, 'host.gone', 'host.conflict')) continue;
        log.debug('an operator entry could not be written', { ...metadata, error: asLogfleetError(error) });
        return;
      } finally {
        this.#question = undefined;
      }
    }
  }

  /**
   * Reports whether this operator must write its entry to a resource that another operator also manages. A write is
   * necessary in each of these cases:
   * - This operator's entry is missing, or its `since` is too late.
   * - Another operator has asked whether this operator is still running.
   * - Another operator is gone, so its entry must be removed.
   */
  #isDue(resource: AnyResource): boolean {
    const own = this.#own(resource);
    const isCurrent = own && own.since === this.#earliest(own.since);
    return this.#foreign(resource).some(
      ({ name, seen }) => !isCurrent || seen > own.seen || this.#isGone(name, resource),
    );
  }

  #isSilent(name: string, resource: AnyResource, nowMs: number): boolean {
    const { heardAtMs = nowMs, askedAtMs, isGone } = this.#others.get(otherKey(name, resource)) ?? {};
    if (isGone || askedAtMs !== undefined) return false;
    return nowMs - heardAtMs >= (this.#isForeign(resource) ? askAgainMs : askAgainMs + responseMs);
  }

  /**
   * Returns the entry that this operator writes to a status. A new time in `seen` asks the other operators whether they
   * are still running. A copy of another operator's `seen` answers that operator's question.
   */
  #ownEntry(resource: AnyResource | undefined, foreign: readonly OperatorEntry[]): OperatorEntry {
    const { self, clock } = this.#options;
    const own = this.#own(resource);
    const nowMs = clock.now();
    const latest = foreign.reduce((max, { seen }) => (seen > max ? seen : max), own?.seen ?? '');
    const since = this.#earliest(own?.since ?? isoText(nowMs));
    if (own && resource !== this.#question) return { ...own, since, seen: latest };
    const question = isoText(latest === '' ? nowMs : Math.max(nowMs, Date.parse(latest) + 1));
    return { name: self, since, seen: question };
  }

  #earliest(since: string): string {
    return this.#since !== undefined && this.#since < since ? this.#since : since;
  }
}

/**
 * Returns the key of another operator in `#others`. The key consists of the operator's name and the resource's
 * namespace.
 */
function otherKey(name: string, { metadata }: AnyResource): string {
  return `${name} ${metadata.namespace}`;
}

/**
 * Returns the message that tells users that several operators manage the same resource. `operators` is sorted, and the
 * first operator acts on the resource.
 */
function messageOf(operators: readonly OperatorEntry[]): string {
  const names = operators.map(({ name }) => name);
  const [first, ...others] = names;
  return (
    `The operators in the namespaces ${listText(names)} manage this resource. ` +
    `The operator in ${first} acts on this resource, because this operator has the earliest status.operators[].since; the ${wordFor(others.length, 'operator', 'operators')} in ${listText(others)} ${wordFor(others.length, 'waits', 'wait')}. ` +
    'Keep only one of the operators, or give them different --namespaces.'
  );
}

/** Compares two entries by `since`, then by name. The operator whose entry comes first acts on the resource. */
function compareEntries(left: OperatorEntry, right: OperatorEntry): number {
  return compareText(left.since, right.since) || compareText(left.name, right.name);
}
