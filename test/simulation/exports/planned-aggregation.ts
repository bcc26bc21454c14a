/** Plans the aggregation query of an export: how it groups messages, and which values it computes. */
import type { Chance } from '../chance.ts';

export interface AggregationPlan {
  readonly keys: readonly GroupKey[];
  readonly figures: readonly AggregateFigure[];
  /** Length in ms of the periods by which the aggregation groups messages. */
  readonly sliceMs: number;
  /**
   * A group is in the result only if it has more messages than this number. If undefined, every group is in the result.
   */
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

/** Returns the operators of the query, each preceded by a pipe. They follow the search expression. */
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
