/**
 * Metrics of a resource kind, computed from the statuses of its resources: the number of resources in each state, and
 * separate series for at most 200 resources (C3).
 *
 * More urgent resources get series first. The order is: Stalled, reasons that need attention, Outage, Reconciling,
 * NotReady, then all others.
 */
import { type Condition, findCondition, reasons } from '../api/conditions.ts';
import type { Labels, Metrics, Sample } from '../base/metrics.ts';
import type { ResourceKey } from '../host/host.ts';
import { needsAttention } from './health.ts';

export const maxShown = 200;

type ResourceState = 'Stalled' | 'Outage' | 'Reconciling' | 'NotReady' | 'Ready' | 'Unknown';

/**
 * Groups of resource states and `Ready` reasons, most urgent first. A resource belongs to the first group that contains
 * its state or its reason.
 */
const ranks: readonly (readonly string[])[] = [
  ['Stalled'],
  [...needsAttention, reasons.internalError],
  ['Outage'],
  ['Reconciling'],
  ['NotReady'],
  ['Ready', 'Unknown'],
];

const states = 'Ready, Reconciling, Outage, Stalled, NotReady, Unknown';

export interface MeasuredResource {
  readonly metadata: ResourceKey;
  readonly status?: { readonly conditions?: readonly Condition[] } | undefined;
}

type MeasuredStatus<R extends MeasuredResource> = NonNullable<R['status']>;

/** Name, description and values of a metric. `read` returns one value, or one sample for each combination of labels. */
export type StatusFigure<R extends MeasuredResource> = readonly [
  name: string,
  help: string,
  read: (status: MeasuredStatus<R>, resource: R) => number | readonly Sample[] | undefined,
  labelNames?: readonly string[],
];

interface StatusMetricsOptions<R extends MeasuredResource> {
  readonly metrics: Metrics;
  /** Resource kind, such as `export`, for metric names and labels. */
  readonly kind: string;
  readonly plural: string;
  readonly figures: readonly StatusFigure<R>[];
  /**
   * Returns the resources to measure, or none while another process is the leader. If both processes measured them,
   * each alert would fire twice.
   */
  readonly resources: () => Iterable<R>;
}

/** Creates the metrics of a kind. */
export function measureStatuses<R extends MeasuredResource>(options: StatusMetricsOptions<R>): void {
  const { metrics, kind, plural, figures, resources } = options;
  let last: { readonly scrape: object; readonly found: Found<R> } | undefined;
  const at = (scrape: object): Found<R> => {
    if (last?.scrape !== scrape) last = { scrape, found: findStates(resources()) };
    return last.found;
  };
  const labelsOf = ({ resource: { metadata } }: Measured<R>) => ({
    namespace: metadata.namespace,
    [kind]: metadata.name,
  });
  for (const [name, help, read, labelNames = []] of figures) {
    metrics.observedGauge(name, help, ['namespace', kind, ...labelNames], (scrape) =>
      at(scrape).shown.flatMap((each) => samplesOf(labelsOf(each), read(each.status, each.resource))),
    );
  }
  metrics.observedGauge(
    `logfleet_${plural}`,
    `Number of ${plural} by state (${states}) and by the reason of the Ready condition.`,
    ['state', 'reason'],
    (scrape) => at(scrape).counts.values(),
  );
  metrics.observedGauge(
    `logfleet_${kind}_state`,
    `Always 1. The labels show the state (${states}) of one ${kind}, and the reason of its Ready condition. At most ${maxShown} ${plural} have this series.`,
    ['namespace', kind, 'state', 'reason'],
    (scrape) =>
      at(scrape).shown.map((each) => [{ ...labelsOf(each), state: each.state, reason: each.reason }, 1] as const),
  );
}

interface Measured<R extends MeasuredResource> {
  readonly resource: R;
  readonly status: MeasuredStatus<R>;
  readonly state: ResourceState;
  readonly reason: string;
}

interface Found<R extends MeasuredResource> {
  /** Number of resources for each state and reason. */
  readonly counts: ReadonlyMap<string, Sample>;
  /** Resources that have their own series. */
  readonly shown: readonly Measured<R>[];
}

function findStates<R extends MeasuredResource>(resources: Iterable<R>): Found<R> {
  const counts = new Map<string, Sample>();
  const byRank = ranks.map((): Measured<R>[] => []);
  for (const resource of resources) {
    const status: MeasuredStatus<R> | undefined = resource.status ?? undefined;
    const ready = findCondition(status?.conditions, 'Ready');
    if (!status || !ready) continue;
    const { reason } = ready;
    const state = stateOf(ready, status.conditions);
    const [, count = 0] = counts.get(`${state} ${reason}`) ?? [];
    counts.set(`${state} ${reason}`, [{ state, reason }, count + 1]);
    const equallyUrgent = byRank[ranks.findIndex((words) => words.includes(state) || words.includes(reason))];
    if (equallyUrgent && equallyUrgent.length < maxShown) equallyUrgent.push({ resource, status, state, reason });
  }
  return { counts, shown: byRank.flat().slice(0, maxShown) };
}

function samplesOf(labels: Labels, value: number | readonly Sample[] | undefined): readonly Sample[] {
  if (value === undefined) return [];
  if (typeof value === 'number') return [[labels, value]];
  return value.map(([more, each]) => [{ ...labels, ...more }, each] as const);
}

function stateOf(ready: Condition, conditions: readonly Condition[] | undefined): ResourceState {
  const holds = (type: 'Stalled' | 'Outage' | 'Reconciling') => findCondition(conditions, type)?.status === 'True';
  if (holds('Stalled')) return 'Stalled';
  if (holds('Outage')) return 'Outage';
  if (holds('Reconciling')) return 'Reconciling';
  return ({ True: 'Ready', False: 'NotReady', Unknown: 'Unknown' } as const)[ready.status];
}
