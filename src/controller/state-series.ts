/**
 * The state of each resource of a kind as a series of metrics, with the reason of its condition Ready, for alerts.
 *
 * Invariant: of each resource there is one series, and none of one that is gone, or that another process looks after by now. Reasons are
 * those of conditions, of which there are few (`api/conditions.ts`).
 */
import { type Condition, findCondition } from '../api/conditions.ts';
import type { Gauge, Labels } from '../base/metrics.ts';
import type { ResourceKey } from '../host/host.ts';

export class StateSeries {
  readonly #gauge: Gauge;
  readonly #nameLabel: string;
  /** The labels of each resource's series, by `namespace/name`. */
  readonly #shown = new Map<string, Labels>();

  /** `gauge` has the labels namespace, `nameLabel`, state and reason. */
  constructor(gauge: Gauge, nameLabel: string) {
    this.#gauge = gauge;
    this.#nameLabel = nameLabel;
  }

  /** Nothing changes where the resource has no status yet. */
  measure({ namespace, name }: ResourceKey, conditions: readonly Condition[] | undefined): void {
    const ready = findCondition(conditions, 'Ready');
    if (!ready) return;
    const state = stateOf(ready, conditions);
    this.#show({ namespace, name }, { namespace, [this.#nameLabel]: name, state, reason: ready.reason });
  }

  /** Of a resource that is gone. */
  forget(key: ResourceKey): void {
    this.#show(key, undefined);
  }

  #show({ namespace, name }: ResourceKey, labels: Labels | undefined): void {
    const key = `${namespace}/${name}`;
    const before = this.#shown.get(key);
    const isSame = before?.['state'] === labels?.['state'] && before?.['reason'] === labels?.['reason'];
    if (before && !isSame) this.#gauge.remove(before);
    if (!labels) {
      this.#shown.delete(key);
      return;
    }
    this.#shown.set(key, labels);
    this.#gauge.set(labels, 1);
  }
}

function stateOf(ready: Condition, conditions: readonly Condition[] | undefined): string {
  const holds = (type: 'Stalled' | 'Outage' | 'Reconciling') => findCondition(conditions, type)?.status === 'True';
  if (holds('Stalled')) return 'Stalled';
  if (holds('Outage')) return 'Outage';
  if (holds('Reconciling')) return 'Reconciling';
  return { True: 'Ready', False: 'NotReady', Unknown: 'Unknown' }[ready.status];
}
