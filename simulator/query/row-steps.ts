/**
 * Query operators that process messages, such as `parse` and `fields`. Each operator adds or hides fields, or drops
 * messages.
 */
import { jsonFields } from './json-fields.ts';
import { messageField } from './message-fields.ts';
import { fieldValue, type Numeric, numericOf } from './numeric.ts';
import type { Predicate } from './predicate.ts';
import type { RegularExpression } from './regular-expression.ts';
import type { FieldDescriptor, MessageRow } from './row.ts';
import { type Visibility, WorkingRow } from './working-row.ts';

export interface RowStep {
  /** Lower-case names of the fields read by the operator. */
  readonly reads: ReadonlySet<string>;
  /** Length in ms of the time slices of `timeslice`. */
  readonly sliceMs?: number;
  /**
   * Estimated cost of applying the operator to one message. The unit is the cost of comparing two short strings.
   * Default: 1.
   */
  readonly cost?: number;
  /** Fields that the operator adds to every message. */
  readonly adds: readonly FieldDescriptor[];
  readonly drops: boolean;
  readonly hides?: boolean;
  /**
   * Reports whether a field is visible after this operator. `before` is true if the field was visible before this
   * operator.
   */
  shows(lowerName: string, before: boolean): boolean;
  /** Applies the operator to a message. Returns false if the operator drops the message. */
  run(row: WorkingRow): boolean;
}

const costs = { regex: 200, json: 100 } as const;

/** Fields that the operator `fields a, b` never hides, because clients need them. */
const alwaysListed: readonly string[] = ['_messageid', '_messagetime'];

/** Applies operators to a message in order. Returns undefined if an operator drops the message. */
export function applied(steps: readonly RowStep[], stored: MessageRow): WorkingRow | undefined {
  const row = new WorkingRow(stored);
  return steps.every((step) => step.run(row)) ? row : undefined;
}

export function costOf(steps: readonly RowStep[]): number {
  return steps.reduce((sum, { cost = 1 }) => sum + cost, 0);
}

/** Returns the lower-case names of the fields that the operators read from stored messages. */
export function storedReads(steps: readonly RowStep[]): ReadonlySet<string> {
  const reads = new Set<string>();
  const added = new Set<string>();
  for (const step of steps) {
    for (const name of step.reads) if (!added.has(name)) reads.add(name);
    for (const name of lowered(step.adds.map((field) => field.name))) added.add(name);
  }
  return reads;
}

/**
 * Returns the operators that determine which messages are kept: the operators that drop messages, and the earlier
 * operators whose added fields they read.
 */
export function stepsThatDrop(steps: readonly RowStep[]): readonly RowStep[] {
  const needed: RowStep[] = [];
  for (const step of steps.slice(0, steps.findLastIndex(({ drops }) => drops) + 1).reverse()) {
    const names = lowered(step.adds.map(({ name }) => name));
    const isRead = names.some((name) => needed.some(({ reads }) => reads.has(name)));
    // An operator whose added fields are unknown might hide fields, or add fields with any name. It is kept, because
    // later operators might depend on these changes.
    if (step.drops || isRead || names.length === 0) needed.push(step);
  }
  return needed.reverse();
}

export function whereStep(condition: Predicate): RowStep {
  return {
    reads: condition.reads,
    cost: condition.cost,
    adds: [],
    drops: true,
    shows: asBefore,
    run: (row) => condition.holds(row),
  };
}

/**
 * Creates an operator that adds the named groups of a regular expression as fields. With `noDrop`, it keeps messages
 * that do not match.
 */
export function regexStep(field: string, expression: RegularExpression, noDrop: boolean): RowStep {
  const names = expression.groups.map(({ name }) => name);
  return {
    ...additions(names.map((name) => ({ name, fieldType: 'string', keyField: false }))),
    reads: new Set([field]),
    cost: costs.regex,
    drops: !noDrop,
    run(row) {
      const values = expression.match(String(row.field(field) ?? ''));
      if (!values) return noDrop;
      for (const [index, name] of names.entries()) {
        const value = values[index];
        if (value !== undefined) row.set(name, value);
      }
      return true;
    },
  };
}

/** Adds the fields of JSON messages. */
export const jsonStep: RowStep = {
  reads: new Set(['_raw']),
  cost: costs.json,
  adds: [],
  drops: false,
  shows: (lowerName, before) => before || !messageField(lowerName),
  run(row) {
    for (const [name, value] of jsonFields(String(row.field('_raw') ?? ''))) row.set(name, value);
    return true;
  },
};

/** Adds the start time of the message's time slice, in ms. */
export function timesliceStep(lengthMs: number, name: string): RowStep {
  return {
    ...additions([{ name, fieldType: 'long', keyField: false }]),
    reads: new Set(['_messagetime']),
    sliceMs: lengthMs,
    drops: false,
    run(row) {
      row.set(name, fieldValue(Math.floor(row.messageTimeMs / lengthMs) * lengthMs));
      return true;
    },
  };
}

export interface Computation {
  /** Lower-case name of the left operand. The value of `right` is added to, or subtracted from, the value of `left`. */
  readonly left: string;
  readonly sign: '+' | '-';
  readonly right: string;
}

/**
 * Creates an operator that adds a field with the sum or difference of two other fields. The field is added only if both
 * values are numbers.
 */
export function computeStep({ left, sign, right }: Computation, field: FieldDescriptor): RowStep {
  return {
    ...additions([field]),
    reads: new Set([left, right]),
    drops: false,
    run(row) {
      const one = numericOf(row.field(left) ?? '');
      const other = numericOf(row.field(right) ?? '');
      if (one !== undefined && other !== undefined) row.set(field.name, fieldValue(computed(one, sign, other)));
      return true;
    },
  };
}

/**
 * Adds or subtracts two numbers. If both are integers, the result is exact. Otherwise, it is rounded to a 64-bit
 * floating-point number.
 */
function computed(one: Numeric, sign: Computation['sign'], other: Numeric): Numeric {
  const inDoubles = sign === '+' ? Number(one) + Number(other) : Number(one) - Number(other);
  if (!isWhole(one) || !isWhole(other)) return inDoubles;
  if (Number.isSafeInteger(one) && Number.isSafeInteger(other) && Number.isSafeInteger(inDoubles)) return inDoubles;
  return sign === '+' ? BigInt(one) + BigInt(other) : BigInt(one) - BigInt(other);
}

function isWhole(value: Numeric): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

/**
 * Creates an operator that hides all fields except `names`. `sees` reports whether earlier operators left a field
 * visible.
 */
export function keepStep(names: readonly string[], sees: Visibility): RowStep & { readonly sees: Visibility } {
  const kept = new Set([...lowered(names), ...alwaysListed]);
  return restriction((lowerName) => kept.has(lowerName), sees);
}

export function hideStep(names: readonly string[], sees: Visibility): RowStep & { readonly sees: Visibility } {
  const hidden = new Set(lowered(names));
  return restriction((lowerName) => !hidden.has(lowerName), sees);
}

function restriction(keeps: Visibility, before: Visibility): RowStep & { readonly sees: Visibility } {
  const sees: Visibility = (lowerName) => before(lowerName) && keeps(lowerName);
  return {
    sees,
    reads: new Set(),
    adds: [],
    drops: false,
    hides: true,
    shows: (lowerName, shown) => shown && keeps(lowerName),
    run(row) {
      row.restrict(sees, keeps);
      return true;
    },
  };
}

function additions(adds: readonly FieldDescriptor[]): Pick<RowStep, 'adds' | 'shows'> {
  const names = new Set(lowered(adds.map(({ name }) => name)));
  return { adds, shows: (lowerName, before) => before || names.has(lowerName) };
}

function asBefore(_lowerName: string, before: boolean): boolean {
  return before;
}

function lowered(names: readonly string[]): readonly string[] {
  return names.map((name) => name.toLowerCase());
}
