/**
 * Aggregations, which combine rows with equal values in the grouping fields into one record.
 *
 * The result must not depend on the order of the rows. Therefore, an aggregation that exceeds its memory limit drops
 * all groups, not only the latest ones.
 */
import type { Accumulators, AggregateFunction } from './accumulators.ts';
import type { Aggregation, RecordStep, RecordTable } from './aggregation.ts';
import { type AggregationMemory, characterBytes, detached } from './aggregation-memory.ts';
import { compareRanks, rankOf } from './numeric.ts';
import type { FieldDescriptor, MessageRow } from './row.ts';

export interface AggregateColumn {
  readonly descriptor: FieldDescriptor;
  readonly aggregate: AggregateFunction;
  /** Lower-case name of the aggregated field. Absent for `count`. */
  readonly field?: string;
}

export interface Grouping {
  readonly keys: readonly FieldDescriptor[];
  readonly columns: readonly AggregateColumn[];
  /** Operators that follow the aggregation in the query. */
  readonly steps: readonly RecordStep[];
}

/** Value used for every row in a `count` without a field. */
const present = '';

const maxGroups = 100_000;
/** Approximate memory per group, in bytes. The values of the grouping fields are not included. */
const groupBytes = 90;
const keyBytes = 50;

export class GroupedRows implements Aggregation {
  readonly #grouping: Grouping;
  readonly #memory: AggregationMemory;
  readonly #keyNames: readonly string[];
  readonly #groupBytes: number;
  /** Group numbers, by group key. The key joins the values of the grouping fields. */
  #indices = new Map<string, number>();
  /**
   * Values of the grouping fields for each group. With only one grouping field, the list is empty, because the group
   * key is the value.
   */
  #keys: (readonly string[])[] = [];
  #columns: readonly Accumulators[];
  /** Reserved memory in bytes. */
  #bytes = 0;
  #isTooMuch = false;
  #failure: string | undefined;
  #recordCount: number | undefined;

  constructor(grouping: Grouping, memory: AggregationMemory) {
    this.#grouping = grouping;
    this.#memory = memory;
    this.#keyNames = grouping.keys.map(({ name }) => name.toLowerCase());
    this.#columns = grouping.columns.map(({ aggregate }) => aggregate.start((bytes) => this.#keep(bytes)));
    const columnBytes = grouping.columns.reduce((sum, { aggregate }) => sum + aggregate.groupBytes, 0);
    this.#groupBytes = groupBytes + columnBytes + (this.#hasKeyLists ? keyBytes * (grouping.keys.length + 1) : 0);
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  add(row: MessageRow, times = 1): void {
    if (this.#failure !== undefined) return;
    this.#recordCount = undefined;
    this.#memory.forgetTable(this);
    const group = this.#groupOf(this.#keyNames.map((name) => String(row.field(name) ?? '')));
    const { columns } = this.#grouping;
    for (let index = 0; index < columns.length; index++) {
      const { field } = columns[index] as AggregateColumn;
      this.#columns[index]?.add(group, field === undefined ? present : row.field(field), times);
    }
    this.#failure = this.#excess();
    if (this.#failure !== undefined) this.end();
  }

  end(): void {
    this.#memory.giveBack(this.#bytes);
    this.#bytes = 0;
    this.#memory.forgetTable(this);
    this.#recordCount = undefined;
    this.#indices = new Map();
    this.#keys = [];
    this.#columns = [];
  }

  #excess(): string | undefined {
    if (this.#indices.size > maxGroups) return `The query has no records: there are more than ${maxGroups} groups.`;
    if (!this.#isTooMuch) return undefined;
    return `The query has no records: the groups and values of all queries would take more than ${this.#memory.maxMb} MB.`;
  }

  get recordCount(): number {
    this.#recordCount ??= this.#countRecords();
    return this.#recordCount;
  }

  #countRecords(): number {
    let count = this.#indices.size;
    for (const step of this.#grouping.steps) {
      if (!step.countAfter) return this.table().records.length;
      count = step.countAfter(count);
    }
    return count;
  }

  table(): RecordTable {
    return this.#memory.tableOf(this, () =>
      this.#grouping.steps.reduce((table, step) => step.run(table), this.#allRecords()),
    );
  }

  get #hasKeyLists(): boolean {
    return this.#keyNames.length > 1;
  }

  #groupOf(keys: readonly string[]): number {
    const id = identityOf(keys);
    const known = this.#indices.get(id);
    if (known !== undefined) return known;
    const group = this.#indices.size;
    this.#indices.set(detached(id), group);
    if (this.#hasKeyLists) this.#keys.push(keys.map(detached));
    this.#keep(this.#groupBytes + id.length * characterBytes * (this.#hasKeyLists ? 2 : 1));
    return group;
  }

  #keep(bytes: number): void {
    this.#bytes += bytes;
    if (!this.#memory.take(bytes)) this.#isTooMuch = true;
  }

  /** Returns the records, sorted in ascending order by the values of their grouping fields. */
  #allRecords(): RecordTable {
    const { keys, columns } = this.#grouping;
    const ranked = [...this.#indices].map(([id, group]) => {
      const values = this.#valuesOf(id, group);
      return { group, values, ranks: values.map(rankOf) };
    });
    ranked.sort((left, right) => {
      for (const [index, rank] of left.ranks.entries()) {
        const order = compareRanks(rank, right.ranks[index] as typeof rank);
        if (order !== 0) return order;
      }
      return 0;
    });
    return {
      fields: [...keys, ...columns.map(({ descriptor }) => descriptor)],
      records: ranked.map(({ group, values }) => [...values, ...this.#columns.map((column) => column.result(group))]),
    };
  }

  /** Returns the values of a group's grouping fields. */
  #valuesOf(id: string, group: number): readonly string[] {
    if (this.#hasKeyLists) return this.#keys[group] as readonly string[];
    return this.#keyNames.length === 1 ? [id] : [];
  }
}

/** Joins the values of a group's grouping fields into one string. Different groups have different strings. */
function identityOf(values: readonly string[]): string {
  const [only] = values;
  if (values.length === 1) return only as string;
  return values.map((value) => `${value.length}:${value}`).join('');
}
