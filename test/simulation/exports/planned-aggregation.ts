/** Plans an export's aggregation query: how it groups messages, and which values it computes. */
import type { Chance } from '../chance.ts';

export interface AggregationPlan {
  readonly keys: readonly GroupKey[];
  readonly figures: readonly AggregateFigure[];
  /** Length in ms of the periods by which messages are grouped. */
  readonly sliceMs: number;
  /** Groups with at most this many messages are omitted from the result. If undefined, no group is omitted. */
  readonly moreThan: number | undefined;
}

/**
 * Key by which an aggregation groups messages. `digit` is the last digit of the text, and `slice` is a period of the
 * message time.
 */
export type GroupKey = 'kind' | 'digit' | 'slice' | '_size' | '_messageid';

export type AggregateFigure = 'messages' | 'bytes' | 'mean' | 'first' | 'last' | 'ids';

const groupKeys: readonly GroupKey[] = ['kind', 'digit', 'slice', '_size', '_messageid'];
const figureTexts: Readonly<Record<AggregateFigure, string>> = {
  messages: 'count as messages',
  bytes: 'sum(_size) as bytes',
  mean: 'avg(_size) as mean',
  first: 'min(_messagetime) as first',
  last: 'max(_receipttime) as last',
  ids: 'count_distinct(_messageid) as ids',
};

export function planAggregation(chance: Chance, spanMs: number): AggregationPlan {
  return {
    keys: chance.happens(0.3) ? [chance.one(groupKeys)] : chance.some(groupKeys, 0.3),
    figures: ['messages', ...chance.some<AggregateFigure>(['bytes', 'mean', 'first', 'last', 'ids'], 0.4)],
    sliceMs: Math.max(1, Math.floor(spanMs / chance.whole(1, 50))),
    moreThan: chance.happens(0.2) ? chance.whole(1, 3) : undefined,
  };
}

/** Returns the query operators that follow the search expression, each preceded by a pipe. */
export function operatorsOf({ keys, figures, sliceMs, moreThan }: AggregationPlan): string {
  const operators = keys.flatMap((key) => {
    if (key === 'kind') return ['parse regex "^(?<kind>app|db) " nodrop'];
    if (key === 'digit') return ['parse regex "(?<digit>\\d)$" nodrop'];
    return key === 'slice' ? [`timeslice ${sliceMs}ms as slice`] : [];
  });
  const by = keys.length > 0 ? ` by ${keys.join(', ')}` : '';
  operators.push(`${figures.map((figure) => figureTexts[figure]).join(', ')}${by}`);
  if (moreThan !== undefined) operators.push(`where messages > ${moreThan}`);
  return operators.map((operator) => ` | ${operator}`).join('');
}
