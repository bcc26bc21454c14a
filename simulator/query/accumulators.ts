/**
 * Aggregate functions in queries, such as `sum` and `count`. Only `count_distinct` stores all values.
 *
 * `sum`, `avg`, `min` and `max` skip values that are not numbers. If no value is a number, their result is `""`.
 */
import { characterBytes, detached } from './aggregation-memory.ts';
import { compareNumerics, type Numeric, numericOf, type ScalarValue } from './numeric.ts';
import type { FieldDescriptor } from './row.ts';

/** Results of one aggregate function, one result per group of rows. Groups are numbered from 0. */
export interface Accumulators {
  /**
   * Adds a value to a group. `times` is the number of rows with this value. `result` may be called only for groups to
   * which a value has been added.
   */
  add(group: number, value: ScalarValue | undefined, times: number): void;
  result(group: number): string;
}

export interface AggregateFunction {
  /**
   * Starts a new aggregation. Whenever the aggregation needs more memory than `groupBytes` per group, it calls `keep`
   * to reserve the additional memory.
   */
  readonly start: (keep: (bytes: number) => void) => Accumulators;
  /** Approximate memory per group, in bytes. */
  readonly groupBytes: number;
  /** Returns the type of the result if the function is applied to a field of type `fieldType`. */
  typeFrom(fieldType: FieldDescriptor['fieldType']): FieldDescriptor['fieldType'];
}

export const aggregateFunctions = {
  avg: { start: () => new Averages(), groupBytes: 80, typeFrom: () => 'double' },
  count: { start: () => new ValueCounts(), groupBytes: 10, typeFrom: () => 'int' },
  count_distinct: { start: (keep) => new DistinctCounts(keep), groupBytes: 250, typeFrom: () => 'int' },
  max: { start: () => new Extremes(1), groupBytes: 25, typeFrom: numberType },
  min: { start: () => new Extremes(-1), groupBytes: 25, typeFrom: numberType },
  sum: { start: () => new Sums(), groupBytes: 80, typeFrom: numberType },
} as const satisfies Record<string, AggregateFunction>;

export type FunctionName = keyof typeof aggregateFunctions;

export const functionNames = Object.keys(aggregateFunctions) as readonly FunctionName[];

/** Returns the type of a sum: `long` for a sum of whole numbers, and `double` for any other sum. */
function numberType(fieldType: FieldDescriptor['fieldType']): FieldDescriptor['fieldType'] {
  return fieldType === 'int' || fieldType === 'long' ? 'long' : 'double';
}

class ValueCounts implements Accumulators {
  readonly #counts: number[] = [];

  add(group: number, value: ScalarValue | undefined, times: number): void {
    this.#counts[group] = (this.#counts[group] ?? 0) + (value === undefined ? 0 : times);
  }

  result(group: number): string {
    return String(this.#counts[group] ?? 0);
  }
}

/** Approximate memory in bytes that a set needs for each value, in addition to the memory for its characters. */
const valueBytes = 80;

class DistinctCounts implements Accumulators {
  readonly #values: Set<string>[] = [];
  readonly #keep: (bytes: number) => void;

  constructor(keep: (bytes: number) => void) {
    this.#keep = keep;
  }

  add(group: number, value: ScalarValue | undefined): void {
    const values = this.#values[group] ?? new Set();
    this.#values[group] = values;
    if (value === undefined) return;
    const text = String(value);
    if (values.has(text)) return;
    values.add(detached(text));
    this.#keep(valueBytes + text.length * characterBytes);
  }

  result(group: number): string {
    return String(this.#values[group]?.size ?? 0);
  }
}

/** Finds the minimum of each group (if `sign` is -1) or the maximum of each group (if `sign` is 1). */
class Extremes implements Accumulators {
  readonly #sign: 1 | -1;
  readonly #extremes: (Numeric | undefined)[] = [];

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(group: number, value: ScalarValue | undefined): void {
    const former = this.#extremes[group];
    const number = numericOf(value ?? '');
    const isBetter = number !== undefined && (former === undefined || compareNumerics(number, former) * this.#sign > 0);
    this.#extremes[group] = isBetter ? number : former;
  }

  result(group: number): string {
    return String(this.#extremes[group] ?? '');
  }
}

class Totals {
  readonly #totals: Total[] = [];

  add(group: number, value: ScalarValue | undefined, times: number): void {
    this.of(group).add(numericOf(value ?? ''), times);
  }

  of(group: number): Total {
    const total = this.#totals[group] ?? new Total();
    this.#totals[group] = total;
    return total;
  }
}

class Sums extends Totals implements Accumulators {
  result(group: number): string {
    const { count, sum } = this.of(group);
    return count === 0 ? '' : String(sum);
  }
}

class Averages extends Totals implements Accumulators {
  result(group: number): string {
    const { count, sum } = this.of(group);
    return count === 0 ? '' : String(Number(sum) / count);
  }
}

/** Sum of numbers. It is exact as long as all added numbers are integers. */
class Total {
  #whole = 0;
  #large = 0n;
  #inexact = 0;
  #isExact = true;
  count = 0;

  add(value: Numeric | undefined, times: number): void {
    if (value === undefined) return;
    this.count += times;
    if (typeof value === 'bigint') this.#large += value * BigInt(times);
    else if (Number.isSafeInteger(value)) this.#addWhole(value, times);
    else {
      this.#inexact += value * times;
      this.#isExact = false;
    }
  }

  get sum(): Numeric {
    const exact = this.#large === 0n ? this.#whole : this.#large + BigInt(this.#whole);
    return this.#isExact ? exact : Number(exact) + this.#inexact;
  }

  #addWhole(value: number, times: number): void {
    const product = value * times;
    const sum = this.#whole + product;
    if (Number.isSafeInteger(product) && Number.isSafeInteger(sum)) {
      this.#whole = sum;
      return;
    }
    this.#large += BigInt(value) * BigInt(times) + BigInt(this.#whole);
    this.#whole = 0;
  }
}
