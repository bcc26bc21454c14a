/** Parses an aggregation and the operators that process its records: `where`, `sort`, `limit`, `fields`. */
import { aggregateFunctions, type FunctionName, functionNames } from './accumulators.ts';
import type { RecordStep } from './aggregation.ts';
import { parseCondition } from './condition.ts';
import type { Cursor } from './cursor.ts';
import type { AggregateColumn, Grouping } from './grouping.ts';
import { compareRanks, type Rank, rankOf } from './numeric.ts';
import type { FieldSource, Predicate } from './predicate.ts';
import { expectName } from './quoted.ts';
import type { FieldDescriptor } from './row.ts';
import { expectLimit } from './row-stage.ts';

interface SortKey {
  readonly column: number;
  readonly sign: 1 | -1;
}

export class RecordStage {
  readonly #keys: readonly FieldDescriptor[];
  readonly #columns: readonly AggregateColumn[];
  readonly #steps: RecordStep[] = [];
  #fields: readonly FieldDescriptor[];

  private constructor(keys: readonly FieldDescriptor[], columns: readonly AggregateColumn[]) {
    this.#keys = keys;
    this.#columns = columns;
    this.#fields = [...keys, ...columns.map(({ descriptor }) => descriptor)];
  }

  /** Parses an aggregation. `typeOf` returns the type of a message field. */
  static parse(
    cursor: Cursor,
    first: FunctionName,
    start: number,
    typeOf: (name: string) => FieldDescriptor['fieldType'],
  ) {
    const taken = new Set<string>();
    const columns = [expectColumn(cursor, first, start, typeOf, taken)];
    while (cursor.take(',')) {
      const at = cursor.offset;
      columns.push(expectColumn(cursor, expectFunction(cursor), at, typeOf, taken));
    }
    return new RecordStage(cursor.takeKeyword('by') ? expectKeys(cursor, typeOf, taken) : [], columns);
  }

  get grouping(): Grouping {
    return { keys: this.#keys, columns: this.#columns, steps: this.#steps };
  }

  /** Lower-case names of the message fields read by the aggregation. */
  get reads(): readonly string[] {
    const keys = this.#keys.map(({ name }) => name.toLowerCase());
    return [...keys, ...this.#columns.flatMap(({ field }) => (field === undefined ? [] : [field]))];
  }

  /** Parses an operator. Returns false if the operator cannot be applied to records. */
  parseOperator(cursor: Cursor, operator: string): boolean {
    switch (operator) {
      case 'where':
        this.#steps.push(selection(parseCondition(cursor, (name, offset) => this.#columnOf(cursor, name, offset))));
        return true;
      case 'sort':
        this.#steps.push(sorting(this.#parseSortKeys(cursor)));
        return true;
      case 'limit':
        this.#steps.push(cut(expectLimit(cursor)));
        return true;
      case 'fields':
        this.#parseFields(cursor);
        return true;
      default:
        return false;
    }
  }

  #parseSortKeys(cursor: Cursor): readonly SortKey[] {
    cursor.takeKeyword('by');
    const keys: SortKey[] = [];
    do {
      const column = this.#expectColumn(cursor);
      const ascending = cursor.takeKeyword('asc');
      if (!ascending) cursor.takeKeyword('desc');
      keys.push({ column, sign: ascending ? 1 : -1 });
    } while (cursor.take(','));
    return keys;
  }

  #parseFields(cursor: Cursor): void {
    const hides = cursor.take('-');
    const named: number[] = [];
    do named.push(this.#expectColumn(cursor));
    while (cursor.take(','));
    const columns = hides ? [...this.#fields.keys()].filter((column) => !named.includes(column)) : [...new Set(named)];
    this.#steps.push(projection(columns));
    this.#fields = columns.map((column) => this.#fields[column] as FieldDescriptor);
  }

  #expectColumn(cursor: Cursor): number {
    const start = cursor.offset;
    return this.#columnOf(cursor, expectName(cursor), start);
  }

  #columnOf(cursor: Cursor, name: string, offset: number): number {
    const lowerName = name.toLowerCase();
    const column = this.#fields.findIndex((field) => field.name.toLowerCase() === lowerName);
    if (column >= 0) return column;
    const known = this.#fields.map((field) => field.name).join(', ');
    throw cursor.error(offset, `records have no field ${name}; they have ${known === '' ? 'none' : known}`);
  }
}

function expectFunction(cursor: Cursor): FunctionName {
  const start = cursor.offset;
  const name = asFunctionName(cursor.takeBareName()?.toLowerCase());
  if (name === undefined) throw cursor.expected(`one of ${functionNames.join(', ')}`, start);
  return name;
}

export function asFunctionName(name: string | undefined): FunctionName | undefined {
  return functionNames.find((known) => known === name);
}

function expectColumn(
  cursor: Cursor,
  name: FunctionName,
  start: number,
  typeOf: (name: string) => FieldDescriptor['fieldType'],
  taken: Set<string>,
): AggregateColumn {
  const field = parseArgument(cursor, name);
  const shown = cursor.takeKeyword('as') ? expectName(cursor) : `_${name}`;
  claim(cursor, shown, start, taken);
  const aggregate = aggregateFunctions[name];
  const fieldType = aggregate.typeFrom(field === undefined ? 'string' : typeOf(field));
  const column = { descriptor: { name: shown, fieldType, keyField: false }, aggregate };
  return field === undefined ? column : { ...column, field: field.toLowerCase() };
}

/** Reads the argument of an aggregate function. Only `count` can be used without an argument. */
function parseArgument(cursor: Cursor, name: FunctionName): string | undefined {
  if (name === 'count' && !cursor.startsWith('(')) return undefined;
  cursor.expect('(', `"(" and a field name, such as ${name}(_size)`);
  const field = name === 'count' && cursor.take('*') ? undefined : expectName(cursor);
  cursor.expect(')');
  return field;
}

function expectKeys(
  cursor: Cursor,
  typeOf: (name: string) => FieldDescriptor['fieldType'],
  taken: Set<string>,
): readonly FieldDescriptor[] {
  const keys: FieldDescriptor[] = [];
  do {
    const start = cursor.offset;
    const name = expectName(cursor);
    claim(cursor, name, start, taken);
    keys.push({ name, fieldType: typeOf(name), keyField: true });
  } while (cursor.take(','));
  return keys;
}

/** Reserves a field name. Throws if the name is already in use, regardless of case. */
function claim(cursor: Cursor, name: string, offset: number, taken: Set<string>): void {
  const lowerName = name.toLowerCase();
  if (taken.has(lowerName))
    throw cursor.error(offset, `records would have two fields named ${name}: rename one with "as"`);
  taken.add(lowerName);
}

function selection(condition: Predicate): RecordStep {
  return {
    run({ fields, records }) {
      const columns = new Map(fields.map(({ name }, index) => [name.toLowerCase(), index]));
      const fieldsOf = (record: readonly string[]): FieldSource => ({
        field: (lowerName) => record[columns.get(lowerName) ?? -1],
      });
      return { fields, records: records.filter((record) => condition.holds(fieldsOf(record))) };
    },
  };
}

function sorting(keys: readonly SortKey[]): RecordStep {
  return {
    countAfter: (count) => count,
    run({ fields, records }) {
      const ranked = records.map((record) => ({
        record,
        ranks: keys.map(({ column }) => rankOf(record[column] as string)),
      }));
      ranked.sort((left, right) => {
        for (const [index, { sign }] of keys.entries()) {
          const order = compareRanks(left.ranks[index] as Rank, right.ranks[index] as Rank);
          if (order !== 0) return order * sign;
        }
        return 0;
      });
      return { fields, records: ranked.map(({ record }) => record) };
    },
  };
}

function cut(limit: number): RecordStep {
  return {
    countAfter: (count) => Math.min(count, limit),
    run: ({ fields, records }) => ({ fields, records: records.slice(0, limit) }),
  };
}

function projection(columns: readonly number[]): RecordStep {
  return {
    countAfter: (count) => count,
    run: ({ fields, records }) => ({
      fields: columns.map((column) => fields[column] as FieldDescriptor),
      records: records.map((record) => columns.map((column) => record[column] as string)),
    }),
  };
}
