/**
 * Metrics for the states of all resources of a kind: the number of resources in each state, and separate series (one labelled
 * metric per resource) for at most 200 resources (C3).
 *
 * Invariants: resources that most need a person get separate series first, in the order Stalled, Outage, Reconciling, NotReady,
 * others. A resource that is deleted or led by another process has no series and is not counted. The label `reason` has few
 * values, because reasons come from conditions (`api/conditions.ts`).
 */

import { type Condition, findCondition } from '../api/conditions.ts';
import { keyText } from '../base/key-text.ts';
import type { Gauge, Labels, Metrics } from '../base/metrics.ts';
import type { ResourceKey } from '../host/host.ts';

export const maxShown = 200;

/** States of resources, from least to most urgent. */
const ranks = [['Ready', 'Unknown'], ['NotReady'], ['Reconciling'], ['Outage'], ['Stalled']] as const;
type ResourceState = (typeof ranks)[number][number];

const states = 'Ready, Reconciling, Outage, Stalled, NotReady, Unknown';

export interface StateSeriesOptions {
  readonly metrics: Metrics;
  /** Kind of the resources, such as `policy`. Metric names contain it, and the label with a resource's name is named after it. */
  readonly kind: string;
  readonly plural: string;
  /** Called for a resource that lost its separate series to a more urgent resource, to remove its series of other metrics too. */
  readonly onHidden: (key: ResourceKey) => void;
}

interface SeriesEntry {
  readonly key: ResourceKey;
  readonly state: ResourceState;
  readonly reason: string;
  readonly rank: number;
}

export class StateSeries {
  readonly #options: StateSeriesOptions;
  readonly #gauge: Gauge;
  readonly #totals: Gauge;
  /** State of each resource, by `namespace/name`. */
  readonly #entries = new Map<string, SeriesEntry>();
  /** Number of resources for each state and reason. */
  readonly #counts = new Map<string, number>();
  /** Resources with separate series of metrics, grouped by urgency of their state. */
  readonly #shown = ranks.map(() => new Set<string>());
  readonly #hidden = ranks.map(() => new Set<string>());

  constructor(options: StateSeriesOptions) {
    const { metrics, kind, plural } = options;
    this.#options = options;
    this.#totals = metrics.gauge(
      `logfleet_${plural}`,
      `Number of ${plural}, by state (${states}) and by the reason of the condition Ready.`,
      ['state', 'reason'],
    );
    this.#gauge = metrics.gauge(
      `logfleet_${kind}_state`,
      `1 for each of at most ${maxShown} ${plural}. The labels show the state (${states}) and the reason of the condition Ready.`,
      ['namespace', kind, 'state', 'reason'],
    );
  }

  /** Updates the state of a resource. Returns whether the resource has separate metric series. Does nothing until it has a status. */
  measure({ namespace, name }: ResourceKey, conditions: readonly Condition[] | undefined): boolean {
    const text = keyText({ namespace, name });
    const ready = findCondition(conditions, 'Ready');
    const before = this.#entries.get(text);
    if (!ready) return this.#isShown(before, text);
    const state = stateOf(ready, conditions);
    if (before?.state === state && before.reason === ready.reason) return this.#isShown(before, text);
    const rank = ranks.findIndex((each) => each.some((one) => one === state));
    const entry = { key: { namespace, name }, state, reason: ready.reason, rank };
    if (before) this.#count(before, -1);
    this.#count(entry, 1);
    this.#entries.set(text, entry);
    if (before && this.#isShown(before, text)) this.#move(text, before, entry);
    else this.#place(text, before, entry);
    return this.#isShown(entry, text);
  }

  forget(key: ResourceKey): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (!entry) return;
    this.#count(entry, -1);
    this.#entries.delete(text);
    this.#hidden[entry.rank]?.delete(text);
    if (this.#isShown(entry, text)) this.#hide(text, entry);
    this.#fill();
  }

  clear(): void {
    for (const { key } of [...this.#entries.values()]) this.forget(key);
  }

  #isShown(entry: SeriesEntry | undefined, text: string): boolean {
    return entry !== undefined && (this.#shown[entry.rank]?.has(text) ?? false);
  }

  /** Records a new state of a resource that has separate series. Its series go to another resource only if that one is more urgent. */
  #move(text: string, before: SeriesEntry, entry: SeriesEntry): void {
    this.#gauge.remove(this.#labelsOf(before));
    this.#shown[before.rank]?.delete(text);
    this.#show(text, entry);
    const urgent = this.#hidden.findLastIndex(({ size }) => size > 0);
    if (urgent <= entry.rank) return;
    this.#hide(text, entry);
    this.#hidden[entry.rank]?.add(text);
    this.#fill();
  }

  #place(text: string, before: SeriesEntry | undefined, entry: SeriesEntry): void {
    if (before) this.#hidden[before.rank]?.delete(text);
    this.#hidden[entry.rank]?.add(text);
    if (this.#shownCount() >= maxShown) this.#evictBelow(entry.rank);
    this.#fill();
  }

  #evictBelow(rank: number): void {
    const least = this.#shown.findIndex(({ size }) => size > 0);
    const [text] = this.#shown[least] ?? [];
    const entry = text === undefined ? undefined : this.#entries.get(text);
    if (least >= rank || text === undefined || !entry) return;
    this.#hide(text, entry);
    this.#hidden[least]?.add(text);
  }

  /** Gives unused metric series to the most urgent resources that have none. */
  #fill(): void {
    while (this.#shownCount() < maxShown) {
      const [text] = this.#hidden.findLast(({ size }) => size > 0) ?? [];
      const entry = text === undefined ? undefined : this.#entries.get(text);
      if (text === undefined || !entry) return;
      this.#hidden[entry.rank]?.delete(text);
      this.#show(text, entry);
    }
  }

  #show(text: string, entry: SeriesEntry): void {
    this.#shown[entry.rank]?.add(text);
    this.#gauge.set(this.#labelsOf(entry), 1);
  }

  #hide(text: string, entry: SeriesEntry): void {
    this.#shown[entry.rank]?.delete(text);
    this.#gauge.remove(this.#labelsOf(entry));
    this.#options.onHidden(entry.key);
  }

  #shownCount(): number {
    return this.#shown.reduce((sum, { size }) => sum + size, 0);
  }

  #count({ state, reason }: SeriesEntry, by: number): void {
    const labels = { state, reason };
    const text = `${state} ${reason}`;
    const count = (this.#counts.get(text) ?? 0) + by;
    this.#counts.set(text, count);
    if (count > 0) this.#totals.set(labels, count);
    else this.#totals.remove(labels);
  }

  #labelsOf({ key: { namespace, name }, state, reason }: SeriesEntry): Labels {
    return { namespace, [this.#options.kind]: name, state, reason };
  }
}

function stateOf(ready: Condition, conditions: readonly Condition[] | undefined): ResourceState {
  const holds = (type: 'Stalled' | 'Outage' | 'Reconciling') => findCondition(conditions, type)?.status === 'True';
  if (holds('Stalled')) return 'Stalled';
  if (holds('Outage')) return 'Outage';
  if (holds('Reconciling')) return 'Reconciling';
  return ({ True: 'Ready', False: 'NotReady', Unknown: 'Unknown' } as const)[ready.status];
}
