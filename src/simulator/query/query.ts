/**
 * Queries of the simulated service (4.1), as docs/query-language.md describes them: from a text to what decides about rows.
 *
 * Invariant: a query is pure. It keeps nothing of a row but what an aggregation adds up, and the same rows give the same answer in
 * whatever order they are added. Where rows come from, and when they are asked for, is the affair of `log-data/` and of search jobs.
 */
import { functionNames } from './accumulators.ts';
import { AggregationMemory } from './aggregation-memory.ts';
import { Cursor } from './cursor.ts';
import { GroupedRows } from './grouping.ts';
import { withJsonFields } from './json-fields.ts';
import { QueryError } from './query-error.ts';
import { asFunctionName, RecordStage } from './record-stage.ts';
import type { FieldDescriptor, Filter, Row } from './row.ts';
import { RowStage } from './row-stage.ts';
import { jsonStep } from './row-steps.ts';
import { parseSearch } from './search-expression.ts';

/** Bounds what a term may cost, and how long a list of them is. */
const mostCharacters = 10_000;

export interface Query {
  /** Which messages are found: everything before the first `|`, and conditions that follow at once. */
  readonly filter: Filter;
  /** Row-wise operators before the aggregation; absent where there are none. */
  readonly transform?: Transform;
  /** `limit` before any aggregation: so many messages at most, the newest ones. Nothing behind it drops messages. */
  readonly messageLimit?: number;
  /** A fresh accumulator, which shares its memory with others or has its own; absent unless the query aggregates. */
  readonly aggregate?: (memory?: AggregationMemory) => Aggregation;
  /** Fields of a stored row, in lower case, that filter, transform and aggregation read together. */
  readonly reads: ReadonlySet<string>;
  /**
   * All that the query reads of `_messagetime`, which is not among `reads` then, is in which slice of this length a row lies, counted
   * from the epoch. Undefined where it reads nothing of it, or more.
   */
  readonly sliceMs?: number;
}

export interface Transform {
  /** Fields of a stored row, in lower case. */
  readonly reads: ReadonlySet<string>;
  /** About how dear `apply` is, as the cost of a filter. */
  readonly cost: number;
  /** The row with what was parsed (`Row.parsed`) and without what `fields` hides; undefined where it is dropped. */
  apply(row: Row): Row | undefined;
  /** Which rows `apply` does not drop; absent where it drops none. It may read less than `apply` does. */
  readonly keepsRows?: Filter;
  /** Fields that are known to be added before any row is seen. `json auto` adds others as rows have them. */
  readonly adds: readonly FieldDescriptor[];
  /** Which fields pages still show; absent where all of them are. The case of the name does not count. */
  readonly keeps?: (name: string) => boolean;
}

/** What is known of the rows so far. Rows are as `transform` gave them. */
export interface Aggregation {
  /** `times`: as many rows that agree in all that the query reads. */
  add(row: Row, times?: number): void;
  /** Why it was given up, for people: it would keep too much. From then on it has no records. Undefined while it goes on. */
  readonly failure: string | undefined;
  /** Records of `table`, without making it where that can be. */
  readonly recordCount: number;
  /** The records at present (2.6), sorted and limited; each has a value for each of the fields, `""` where there is none. */
  table(): RecordTable;
  /** Keeps nothing any more. Nobody adds to it, or asks, from then on. */
  end(): void;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

const rowOperators = ['where', 'parse regex', 'json auto', 'timeslice', 'fields', 'limit'];
const recordOperators = ['where', 'sort', 'limit', 'fields'];

export interface QueryOptions {
  /** Whether fields of messages that are JSON can be searched from the start (4.1, `AutoParse`), as behind `json auto`. */
  readonly jsonFields?: boolean;
}

/** Throws `QueryError` for what is no query, whitespace alone among it. */
export function parseQuery(text: string, { jsonFields = false }: QueryOptions = {}): Query {
  if (text.length > mostCharacters)
    throw new QueryError(text, mostCharacters, `no query is longer than ${mostCharacters}`);
  const cursor = new Cursor(text);
  const search = parseSearch(cursor);
  const rows = jsonFields ? new RowStage(withJsonFields(search), [jsonStep]) : new RowStage(search);
  let records: RecordStage | undefined;
  while (cursor.take('|')) records = parseOperator(cursor, rows, records);
  if (!cursor.atEnd) throw cursor.expected('"|" or the end of the query');
  return assemble(rows, records);
}

/** Records as they are behind the operator; undefined while there are none. */
function parseOperator(cursor: Cursor, rows: RowStage, records: RecordStage | undefined): RecordStage | undefined {
  const start = cursor.offset;
  const operator = cursor.takeBareName()?.toLowerCase() ?? '';
  if (records) {
    if (!records.parseOperator(cursor, operator)) {
      throw cursor.expected(`one of ${recordOperators.join(', ')} behind an aggregation`, start);
    }
    return records;
  }
  const aggregate = asFunctionName(operator);
  if (aggregate !== undefined) return RecordStage.parse(cursor, aggregate, start, (name) => rows.typeOf(name));
  if (operator === 'sort') throw cursor.error(start, 'sort works on records: write it behind an aggregation');
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
