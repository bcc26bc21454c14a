/** Computes the expected rows of an aggregation without using code from the program or the simulator. */
import type { AggregateFigure, AggregationPlan, GroupKey } from './planned-aggregation.ts';
import type { PlannedMessage } from './planned-corpus.ts';

/** Returns the expected rows of the aggregation as text, in no particular order. */
export function expectedRecords(plan: AggregationPlan, messages: readonly PlannedMessage[]): string[] {
  const groups = new Map<string, PlannedMessage[]>();
  for (const message of messages) {
    const values = plan.keys.map((key) => keyOf(key, message, plan.sliceMs));
    const id = JSON.stringify(values);
    const group = groups.get(id) ?? [];
    groups.set(id, group);
    for (let copy = 0; copy < message.copies; copy++) group.push(message);
  }
  const wanted = [...groups].filter(([, group]) => group.length > (plan.moreThan ?? 0));
  return wanted.map(([id, group]) => {
    const values = JSON.parse(id) as readonly string[];
    const keys = plan.keys.map((key, index): [string, unknown] => [key, values[index]]);
    const figures = plan.figures.map((figure): [string, unknown] => [figure, figureOf(figure, group)]);
    return recordText(Object.fromEntries([...keys, ...figures]));
  });
}

/** Returns an aggregation row as text, independently of how numbers and times are written. */
export function recordText(members: Readonly<Record<string, unknown>>): string {
  const { _rest: rest, ...others } = members;
  // In a Parquet file, the field `_rest` contains the values that do not fit into their columns.
  const all = typeof rest === 'string' && rest !== '' ? { ...others, ...(JSON.parse(rest) as object) } : others;
  return Object.entries(all)
    .map(([name, value]) => [name, plainText(value)])
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name}=${text}`)
    .sort()
    .join(' ');
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (value instanceof Date) return String(value.getTime());
  const text = String(value);
  if (/^-?\d+$/.test(text)) return String(BigInt(text));
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? plainNumber(Number(text)) : text;
}

function plainNumber(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}

function keyOf(key: GroupKey, { atMs, id, raw }: PlannedMessage, sliceMs: number): string {
  switch (key) {
    case 'kind':
      return /^(?:app|db)(?= )/.exec(raw)?.[0] ?? '';
    case 'digit':
      return /\d$/.exec(raw)?.[0] ?? '';
    case 'slice':
      return String(atMs - (atMs % sliceMs));
    case '_size':
      return String(raw.length);
    case '_messageid':
      return id;
  }
}

function figureOf(figure: AggregateFigure, group: readonly PlannedMessage[]): number {
  const bytes = group.reduce((sum, { raw }) => sum + raw.length, 0);
  switch (figure) {
    case 'messages':
      return group.length;
    case 'bytes':
      return bytes;
    case 'mean':
      return bytes / group.length;
    case 'first':
      return Math.min(...group.map(({ atMs }) => atMs));
    case 'last':
      return Math.max(...group.map(({ receivedMs }) => receivedMs));
    case 'ids':
      return new Set(group.map(({ id }) => id)).size;
  }
}
