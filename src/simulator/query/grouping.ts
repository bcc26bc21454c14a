/**
 * An aggregation: rows with the same values in the grouping fields become one record (2.6). It keeps the records, never a row.
 *
 * Invariant: the order in which rows are added does not show, but in the last digits of sums that are not whole. So an aggregation
 * that would keep too much keeps nothing, rather than the groups that happened to come first.
 */
import type { Accumulator, AggregateFunction, KeptValues } from './accumulators.ts';
import { compareRanks, rankOf } from './numeric.ts';
import type { Aggregation, RecordTable } from './query.ts';
import type { RecordStep } from './record-stage.ts';
import type { FieldDescriptor, Row } from './row.ts';

export interface Column {
  readonly descriptor: FieldDescriptor;
  readonly aggregate: AggregateFunction;
  /** What it is computed from, in lower case; absent where rows are counted. */
  readonly field?: string;
}

export interface Grouping {
  readonly keys: readonly FieldDescriptor[];
  readonly columns: readonly Column[];
  /** What operators behind it do to the records. */
  readonly steps: readonly RecordStep[];
}

interface Group {
  readonly keys: readonly string[];
  readonly accumulators: readonly Accumulator[];
}

/** What a row has for a column that counts rows. */
const present = '';

const mostGroups = 100_000;
/** Of `count_distinct`. */
const mostValues = 1_000_000;
/** Of the values of groups and of `count_distinct`. */
const mostCharacters = 100_000_000;

export class GroupedRows implements Aggregation {
  readonly #grouping: Grouping;
  readonly #keyNames: readonly string[];
  readonly #groups = new Map<string, Group>();
  readonly #kept: KeptValues = { count: 0, characters: 0 };
  #failure: string | undefined;
  /** Of the rows so far, until another one comes. */
  #table: RecordTable | undefined;

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
    this.#keyNames = grouping.keys.map(({ name }) => name.toLowerCase());
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  add(row: Row, times = 1): void {
    if (this.#failure !== undefined) return;
    this.#table = undefined;
    const { accumulators } = this.#groupOf(this.#keyNames.map((name) => row.field(name) ?? ''));
    for (const [index, { field }] of this.#grouping.columns.entries()) {
      accumulators[index]?.add(field === undefined ? present : row.field(field), times);
    }
    this.#failure = this.#excess();
    if (this.#failure !== undefined) this.#groups.clear();
  }

  #excess(): string | undefined {
    const { count, characters } = this.#kept;
    if (this.#groups.size > mostGroups) return `The query has no records: there are more than ${mostGroups} groups.`;
    if (count > mostValues) {
      return `The query has no records: count_distinct finds more than ${mostValues} different values.`;
    }
    if (characters > mostCharacters) {
      return `The query has no records: values of its groups have more than ${mostCharacters} characters.`;
    }
    return undefined;
  }

  get recordCount(): number {
    let count = this.#groups.size;
    for (const step of this.#grouping.steps) {
      if (!step.countAfter) return this.table().records.length;
      count = step.countAfter(count);
    }
    return count;
  }

  table(): RecordTable {
    this.#table ??= this.#grouping.steps.reduce((table, step) => step.run(table), this.#allRecords());
    return this.#table;
  }

  #groupOf(keys: readonly string[]): Group {
    const id = identityOf(keys);
    let group = this.#groups.get(id);
    if (!group) {
      group = { keys, accumulators: this.#grouping.columns.map(({ aggregate }) => aggregate.start(this.#kept)) };
      this.#groups.set(id, group);
      this.#kept.characters += id.length;
    }
    return group;
  }

  /** By their keys, ascending. */
  #allRecords(): RecordTable {
    const { keys, columns } = this.#grouping;
    const ranked = [...this.#groups.values()].map((group) => ({ group, ranks: group.keys.map(rankOf) }));
    ranked.sort((left, right) => {
      for (const [index, rank] of left.ranks.entries()) {
        const order = compareRanks(rank, right.ranks[index] as typeof rank);
        if (order !== 0) return order;
      }
      return 0;
    });
    return {
      fields: [...keys, ...columns.map(({ descriptor }) => descriptor)],
      records: ranked.map(({ group }) => [...group.keys, ...group.accumulators.map((one) => one.result())]),
    };
  }
}

/** Different for different lists of the same length. */
function identityOf(values: readonly string[]): string {
  const [only] = values;
  if (values.length === 1) return only as string;
  return values.map((value) => `${value.length}:${value}`).join('');
}
