/**
 * What an aggregation adds up in a group, value by value. Nothing is kept of a value but what the result needs: only `count_distinct`
 * keeps the values themselves.
 *
 * Values are texts; `sum`, `avg`, `min` and `max` pass over those that are no numbers, and are `""` where there was none.
 */

import { compareNumerics, type Numeric, parseNumeric } from './numeric.ts';
import type { FieldDescriptor } from './row.ts';

export interface Accumulator {
  /** `times` is 1 or more. */
  add(value: string | undefined, times: number): void;
  result(): string;
}

/** Values that an aggregation keeps, of all its groups together. */
export interface KeptValues {
  count: number;
  characters: number;
}

export interface AggregateFunction {
  /** Counts in `kept` what it keeps. */
  readonly start: (kept: KeptValues) => Accumulator;
  /** Of the result, from that of the field. */
  typeFrom(fieldType: FieldDescriptor['fieldType']): FieldDescriptor['fieldType'];
}

export const aggregateFunctions = {
  avg: { start: () => new Average(), typeFrom: () => 'double' },
  count: { start: () => new Count(), typeFrom: () => 'int' },
  count_distinct: { start: (kept) => new DistinctCount(kept), typeFrom: () => 'int' },
  max: { start: () => new Extreme(1), typeFrom: numberType },
  min: { start: () => new Extreme(-1), typeFrom: numberType },
  sum: { start: () => new Sum(), typeFrom: numberType },
} as const satisfies Record<string, AggregateFunction>;

export type FunctionName = keyof typeof aggregateFunctions;

export const functionNames = Object.keys(aggregateFunctions) as readonly FunctionName[];

/** Whole numbers stay whole. */
function numberType(fieldType: FieldDescriptor['fieldType']): FieldDescriptor['fieldType'] {
  return fieldType === 'int' || fieldType === 'long' ? 'long' : 'double';
}

class Count implements Accumulator {
  #count = 0;

  add(value: string | undefined, times: number): void {
    if (value !== undefined) this.#count += times;
  }

  result(): string {
    return String(this.#count);
  }
}

class DistinctCount implements Accumulator {
  readonly #values = new Set<string>();
  readonly #kept: KeptValues;

  constructor(kept: KeptValues) {
    this.#kept = kept;
  }

  add(value: string | undefined): void {
    if (value === undefined || this.#values.has(value)) return;
    this.#values.add(value);
    this.#kept.count++;
    this.#kept.characters += value.length;
  }

  result(): string {
    return String(this.#values.size);
  }
}

/** The smallest number for the sign -1, the largest for 1. */
class Extreme implements Accumulator {
  readonly #sign: 1 | -1;
  #extreme: Numeric | undefined;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(value: string | undefined): void {
    const number = parseNumeric(value ?? '');
    if (number === undefined) return;
    if (this.#extreme === undefined || compareNumerics(number, this.#extreme) * this.#sign > 0) this.#extreme = number;
  }

  result(): string {
    return this.#extreme === undefined ? '' : String(this.#extreme);
  }
}

class Sum implements Accumulator {
  readonly #total = new Total();

  add(value: string | undefined, times: number): void {
    this.#total.add(parseNumeric(value ?? ''), times);
  }

  result(): string {
    return this.#total.count === 0 ? '' : String(this.#total.sum);
  }
}

class Average implements Accumulator {
  readonly #total = new Total();

  add(value: string | undefined, times: number): void {
    this.#total.add(parseNumeric(value ?? ''), times);
  }

  result(): string {
    return this.#total.count === 0 ? '' : String(Number(this.#total.sum) / this.#total.count);
  }
}

/** A sum that is exact as long as only integers were added. */
class Total {
  /** Safe at any time; what it cannot hold goes to `#large`. */
  #whole = 0;
  #large = 0n;
  #inexact = 0;
  #isExact = true;
  /** How many numbers were added. */
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
