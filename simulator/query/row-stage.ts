/**
 * Parses the operators that process messages before any aggregation. Conditions that directly follow the search
 * expression become part of the filter.
 */
import { parseDuration } from '../../src/base/duration.ts';
import { dayMs } from '../../src/base/time-units.ts';
import { parseCondition } from './condition.ts';
import type { Cursor } from './cursor.ts';
import { messageField } from './message-fields.ts';
import { allOf, type Predicate } from './predicate.ts';
import { expectName, expectNames } from './quoted.ts';
import { RegularExpression } from './regular-expression.ts';
import type { FieldDescriptor, Transform } from './row.ts';
import {
  applied,
  computeStep,
  costOf,
  hideStep,
  jsonStep,
  keepStep,
  type RowStep,
  regexStep,
  stepsThatDrop,
  storedReads,
  timesliceStep,
  whereStep,
} from './row-steps.ts';
import type { Visibility } from './working-row.ts';

const durationForm = /[\da-z]+/y;
const daysForm = /^(\d+)([dw])$/;
const signs = ['+', '-'] as const;
const wholeTypes: ReadonlySet<FieldDescriptor['fieldType']> = new Set(['long', 'int']);

export class RowStage {
  #filter: Predicate;
  readonly #steps: RowStep[] = [];
  readonly #added = new Map<string, FieldDescriptor>();
  #sees: Visibility = () => true;
  #messageLimit: number | undefined;

  /**
   * Creates a stage that first applies `steps` to each message, and then the operators in the query. A step can, for
   * example, add the fields of JSON messages.
   */
  constructor(search: Predicate, steps: readonly RowStep[] = []) {
    this.#filter = search;
    for (const step of steps) this.#add(step);
  }

  get filter(): Predicate {
    return this.#filter;
  }

  get messageLimit(): number | undefined {
    return this.#messageLimit;
  }

  /**
   * Lower-case names of the fields that the operators read from stored messages. Fields added by other operators are
   * not included.
   */
  get reads(): ReadonlySet<string> {
    return storedReads(this.#steps);
  }

  /**
   * Length in ms of the time slices of the `timeslice` operator. Undefined if another operator reads `_messagetime`, or
   * if the query has no `timeslice`.
   */
  get sliceMs(): number | undefined {
    const readers = this.#steps.filter(({ reads }) => reads.has('_messagetime'));
    return readers.length === 1 ? readers[0]?.sliceMs : undefined;
  }

  /** Returns the type of a field. A field that is neither standard nor added by an operator has the type `string`. */
  typeOf(name: string): FieldDescriptor['fieldType'] {
    const known = this.#added.get(name.toLowerCase()) ?? messageField(name);
    return known?.fieldType ?? 'string';
  }

  /** Returns the given names, except the names of fields that operators added. */
  stored(lowerNames: Iterable<string>): readonly string[] {
    return [...lowerNames].filter((name) => !this.#added.has(name));
  }

  /** Returns a function that applies all operators to a message, or undefined if the query has no operators. */
  transform(): Transform | undefined {
    const steps = this.#steps;
    if (steps.length === 0) return undefined;
    const dropping = stepsThatDrop(steps);
    const transform: Transform = {
      reads: this.reads,
      cost: costOf(steps),
      ...(dropping.length > 0 && {
        keepsRows: {
          reads: storedReads(dropping),
          cost: costOf(dropping),
          matches: (stored) => applied(dropping, stored) !== undefined,
        },
      }),
      adds: [...this.#added.values()],
      apply: (stored) => applied(steps, stored),
    };
    if (!steps.some(({ hides }) => hides)) return transform;
    const keeps = (name: string) => {
      const lowerName = name.toLowerCase();
      return steps.reduce((shown, step) => step.shows(lowerName, shown), true);
    };
    return { ...transform, keeps };
  }

  /** Parses the arguments of an operator. Returns false if the operator cannot be applied to messages. */
  parseOperator(cursor: Cursor, operator: string, start: number): boolean {
    switch (operator) {
      case 'where':
        this.#parseWhere(cursor, start);
        return true;
      case 'parse':
        this.#parseRegex(cursor, start);
        return true;
      case 'json':
        cursor.expectKeyword('auto');
        this.#add(jsonStep);
        return true;
      case 'timeslice':
        this.#parseTimeslice(cursor);
        return true;
      case 'fields':
        this.#parseFields(cursor);
        return true;
      case 'limit':
        this.#messageLimit = Math.min(this.#messageLimit ?? Number.POSITIVE_INFINITY, expectLimit(cursor));
        return true;
      default:
        return this.#parseComputation(cursor, operator);
    }
  }

  /**
   * Parses a calculation such as `a - b as c`, whose `left` operand has already been read. Returns false if neither `+`
   * nor `-` follows.
   */
  #parseComputation(cursor: Cursor, left: string): boolean {
    const sign = signs.find((each) => left !== '' && cursor.take(each));
    if (sign === undefined) return false;
    const right = expectName(cursor).toLowerCase();
    cursor.expectKeyword('as');
    const nameAt = cursor.offset;
    const name = expectName(cursor);
    this.#refuseName(cursor, name, nameAt);
    const isWhole = [left, right].every((operand) => wholeTypes.has(this.typeOf(operand)));
    this.#add(computeStep({ left, sign, right }, { name, fieldType: isWhole ? 'long' : 'double', keyField: false }));
    return true;
  }

  #parseWhere(cursor: Cursor, start: number): void {
    this.#refuseBehindLimit(cursor, 'where', start);
    const condition = parseCondition(cursor, () => {});
    if (this.#steps.length === 0) this.#filter = allOf([this.#filter, condition]);
    else this.#add(whereStep(condition));
  }

  #parseRegex(cursor: Cursor, start: number): void {
    cursor.expectKeyword('regex');
    const field = this.#parseSource(cursor);
    const patternAt = cursor.offset;
    const expression = RegularExpression.expect(cursor);
    const { groups } = expression;
    if (groups.length === 0)
      throw cursor.error(patternAt, 'expected a named group in the regular expression, such as (?<user>\\w+)');
    for (const [index, { name, offset }] of groups.entries()) {
      this.#refuseName(cursor, name, offset);
      const before = groups.slice(0, index).some((other) => other.name.toLowerCase() === name.toLowerCase());
      if (before) throw cursor.error(offset, `there is already a group named ${name}`);
    }
    const noDrop = cursor.takeKeyword('nodrop');
    if (!noDrop) this.#refuseBehindLimit(cursor, 'parse regex without nodrop', start);
    this.#add(regexStep(field, expression, noDrop));
  }

  #parseSource(cursor: Cursor): string {
    if (!cursor.takeKeyword('field')) return '_raw';
    cursor.expect('=');
    return expectName(cursor).toLowerCase();
  }

  #parseTimeslice(cursor: Cursor): void {
    const start = cursor.offset;
    const lengthMs = durationMs(cursor.match(durationForm) ?? '');
    if (lengthMs === undefined) throw cursor.expected('a slice length, such as 30s, 5m, 1h or 1d', start);
    let name = '_timeslice';
    if (cursor.takeKeyword('as')) {
      const nameAt = cursor.offset;
      name = expectName(cursor);
      this.#refuseName(cursor, name, nameAt);
    }
    this.#add(timesliceStep(lengthMs, name));
  }

  #parseFields(cursor: Cursor): void {
    const stepOf = cursor.take('-') ? hideStep : keepStep;
    const step = stepOf(expectNames(cursor), this.#sees);
    this.#sees = step.sees;
    this.#add(step);
  }

  #add(step: RowStep): void {
    this.#steps.push(step);
    for (const field of step.adds) this.#added.set(field.name.toLowerCase(), field);
  }

  #refuseBehindLimit(cursor: Cursor, operator: string, start: number): void {
    if (this.#messageLimit === undefined) return;
    throw cursor.error(start, `${operator} might drop messages that limit has counted: put limit after it`);
  }

  #refuseName(cursor: Cursor, name: string, offset: number): void {
    if (messageField(name)) throw cursor.error(offset, `messages already have a field named ${name}: use another name`);
  }
}

/** Reads the argument of `limit`: a whole number greater than 0. */
export function expectLimit(cursor: Cursor): number {
  const start = cursor.offset;
  const limit = cursor.takeWholeNumber();
  if (limit === undefined && cursor.match(/\d+/y)) {
    throw cursor.expected(`a whole number up to ${Number.MAX_SAFE_INTEGER}`, start);
  }
  if (limit === undefined || limit === 0) throw cursor.expected('a whole number greater than 0', start);
  return limit;
}

/** Parses a duration such as `5m`, `1d` or `2w`. Returns undefined if the duration is invalid or zero. */
function durationMs(text: string): number | undefined {
  const [, amount, unit] = daysForm.exec(text) ?? [];
  const lengthMs = amount === undefined ? parseDuration(text) : Number(amount) * dayMs * (unit === 'w' ? 7 : 1);
  return lengthMs !== undefined && lengthMs > 0 && Number.isSafeInteger(lengthMs) ? lengthMs : undefined;
}
