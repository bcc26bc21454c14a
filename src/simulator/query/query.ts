/**
 * Queries of the simulated service (4.1), as docs/query-language.md describes them: from a text to what decides about rows.
 *
 * Invariant: a query is pure. It keeps nothing of a row but what an aggregation adds up, and the same rows give the same answer in
 * whatever order they are added. Where rows come from, and when they are asked for, is the affair of `log-data/` and of search jobs.
 */
import { QueryError } from './query-error.ts';
import type { FieldDescriptor, Filter, Row } from './row.ts';

export interface Query {
  /** Which messages are found: everything before the first `|`, and conditions that follow at once. */
  readonly filter: Filter;
  /** Row-wise operators before the aggregation; absent where there are none. */
  readonly transform?: Transform;
  /** `limit` before any aggregation: so many messages at most, the newest ones. Nothing behind it drops messages. */
  readonly messageLimit?: number;
  /** A fresh accumulator; absent unless the query aggregates. */
  readonly aggregate?: () => Aggregation;
  /** Fields of a stored row, in lower case, that filter, transform and aggregation read together. */
  readonly reads: ReadonlySet<string> | 'everything';
}

export interface Transform {
  /** Fields of a stored row, in lower case. */
  readonly reads: ReadonlySet<string> | 'everything';
  /** The row with what was parsed (`Row.parsed`) and without what `fields` hides; undefined where it is dropped. */
  apply(row: Row): Row | undefined;
  /** Whether `apply` can drop a row. */
  readonly drops: boolean;
  /** Fields that are known to be added before any row is seen. `json auto` adds others as rows have them. */
  readonly adds: readonly FieldDescriptor[];
  /** Which fields pages still show; absent where all of them are. The case of the name does not count. */
  readonly keeps?: (name: string) => boolean;
}

/** What is known of the rows so far. Rows are as `transform` gave them. */
export interface Aggregation {
  /** `times`: as many rows that agree in all that the query reads. */
  add(row: Row, times?: number): void;
  /** Records of `table`, without making it where that can be. */
  readonly recordCount: number;
  /** The records at present (2.6), sorted and limited; each has a value for each of the fields, `""` where there is none. */
  table(): RecordTable;
}

export interface RecordTable {
  readonly fields: readonly FieldDescriptor[];
  readonly records: readonly (readonly string[])[];
}

/** Throws `QueryError` for what is no query, whitespace alone among it. */
export function parseQuery(text: string): Query {
  const words = text.split(/\s+/).filter((word) => word !== '' && word !== '*');
  if (text.trim() === '') throw QueryError.expected(text, text.length, 'a search expression, as *');
  const filter: Filter = {
    reads: new Set(words.length > 0 ? ['_raw'] : []),
    matches(row) {
      const raw = row.field('_raw')?.toLowerCase();
      return words.every((word) => raw?.includes(word.toLowerCase()));
    },
  };
  return { filter, reads: filter.reads };
}
