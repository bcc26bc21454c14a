/** Parses queries to the service (docs/query-language.md). A parsed query is immutable. */
import { functionNames } from './accumulators.ts';
import type { Aggregation } from './aggregation.ts';
import { AggregationMemory } from './aggregation-memory.ts';
import { Cursor } from './cursor.ts';
import { GroupedRows } from './grouping.ts';
import { withJsonFields } from './json-fields.ts';
import { QueryError } from './query-error.ts';
import { asFunctionName, RecordStage } from './record-stage.ts';
import type { MessageFilter, Transform } from './row.ts';
import { RowStage } from './row-stage.ts';
import { jsonStep } from './row-steps.ts';
import { parseSearch } from './search-expression.ts';

/** Maximum query length in characters. It limits the cost of evaluating the query. */
const maxCharacters = 10_000;

export interface Query {
  /** Selects the messages that match the search expression and all `where` conditions directly after the expression. */
  readonly filter: MessageFilter;
  /** Applies message operators, such as `parse`. */
  readonly transform?: Transform;
  /** Maximum number of messages that the query returns, set by a `limit` operator before any aggregation. */
  readonly messageLimit?: number;
  /**
   * Creates the aggregation. Absent if the query has no aggregation. Aggregations that are given the same `memory`
   * share its memory limit.
   */
  readonly aggregate?: (memory?: AggregationMemory) => Aggregation;
  /** Lower-case names of all stored message fields that the query reads. */
  readonly reads: ReadonlySet<string>;
  /**
   * Length in ms of the time slices of the `timeslice` operator. Absent if any operator needs the exact `_messagetime`.
   */
  readonly sliceMs?: number;
}

const rowOperators = ['where', 'parse regex', 'json auto', 'timeslice', 'fields', 'limit'];
const recordOperators = ['where', 'sort', 'limit', 'fields'];

export interface QueryOptions {
  /** Whether queries can read the fields of JSON messages without the `json auto` operator. */
  readonly jsonFields?: boolean;
}

/** Parses a query. Throws `QueryError` if the query is invalid. */
export function parseQuery(text: string, { jsonFields = false }: QueryOptions = {}): Query {
  if (text.length > maxCharacters)
    throw new QueryError(text, maxCharacters, `a query can have at most ${maxCharacters} characters`);
  const cursor = new Cursor(text);
  const search = parseSearch(cursor);
  const rows = jsonFields ? new RowStage(withJsonFields(search), [jsonStep]) : new RowStage(search);
  let records: RecordStage | undefined;
  while (cursor.take('|')) records = parseOperator(cursor, rows, records);
  if (!cursor.atEnd) throw cursor.expected('"|" or the end of the query');
  return assemble(rows, records);
}

/** Parses one operator in the query. Returns the query's aggregation, or undefined if none has begun yet. */
function parseOperator(cursor: Cursor, rows: RowStage, records: RecordStage | undefined): RecordStage | undefined {
  const start = cursor.offset;
  const operator = cursor.takeBareName()?.toLowerCase() ?? '';
  if (records) {
    if (!records.parseOperator(cursor, operator)) {
      throw cursor.expected(`one of ${recordOperators.join(', ')} after an aggregation`, start);
    }
    return records;
  }
  const aggregate = asFunctionName(operator);
  if (aggregate !== undefined) return RecordStage.parse(cursor, aggregate, start, (name) => rows.typeOf(name));
  if (operator === 'sort') throw cursor.error(start, 'sort works only on records: put it after an aggregation');
  if (!rows.parseOperator(cursor, operator, start)) {
    throw cursor.expected(`one of ${[...rowOperators, ...functionNames].join(', ')}`, start);
  }
  return undefined;
}

function assemble(rows: RowStage, records: RecordStage | undefined): Query {
  const { filter, messageLimit } = rows;
  const transform = rows.transform();
  const grouping = records?.grouping;
  const readElsewhere = new Set([...filter.reads, ...rows.stored(records?.reads ?? [])]);
  const sliceMs = readElsewhere.has('_messagetime') ? undefined : rows.sliceMs;
  const readByOperators = [...rows.reads].filter((name) => sliceMs === undefined || name !== '_messagetime');
  return {
    filter: { reads: filter.reads, cost: filter.cost, matches: (row) => filter.holds(row) },
    reads: new Set([...readElsewhere, ...readByOperators]),
    ...(sliceMs !== undefined && { sliceMs }),
    ...(transform && { transform }),
    ...(messageLimit !== undefined && { messageLimit }),
    ...(grouping && { aggregate: (memory = new AggregationMemory()) => new GroupedRows(grouping, memory) }),
  };
}
