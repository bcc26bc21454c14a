/** The row-wise operators, one step each: what a step reads and adds, and what it does to a row. They are read by `row-stage.ts`. */
import { jsonFields } from './json-fields.ts';
import { messageField } from './message-fields.ts';
import { type Numeric, parseNumeric } from './numeric.ts';
import type { Predicate } from './predicate.ts';
import type { RegularExpression } from './regular-expression.ts';
import type { FieldDescriptor, Row } from './row.ts';
import { type Visibility, WorkingRow } from './working-row.ts';

export interface RowStep {
  /** Names in lower case, of stored fields and of those that steps before it add. */
  readonly reads: ReadonlySet<string>;
  /** All that it reads of `_messagetime` is in which slice of this length the message lies, counted from the epoch. */
  readonly sliceMs?: number;
  /** About how dear it is, next to a comparison; 1 where absent. */
  readonly cost?: number;
  /** Fields that are known to be added before a row is seen. */
  readonly adds: readonly FieldDescriptor[];
  /** Whether it can drop rows. */
  readonly drops: boolean;
  /** Whether it can hide fields. */
  readonly hides?: boolean;
  /** Whether a field that pages showed before is shown behind it; by its name in lower case. */
  shows(lowerName: string, before: boolean): boolean;
  /** False where the row is dropped. */
  run(row: WorkingRow): boolean;
}

const costs = { regex: 200, json: 100 } as const;

/** Behind `fields a, b` they are there all the same: without them nobody could page. */
const alwaysListed: readonly string[] = ['_messageid', '_messagetime'];

/** What the steps make of a stored row; undefined where one of them drops it. */
export function applied(steps: readonly RowStep[], stored: Row): WorkingRow | undefined {
  const row = new WorkingRow(stored);
  return steps.every((step) => step.run(row)) ? row : undefined;
}

export function costOf(steps: readonly RowStep[]): number {
  return steps.reduce((sum, { cost = 1 }) => sum + cost, 0);
}

/** Fields of stored rows, in lower case, that the steps read. */
export function storedReads(steps: readonly RowStep[]): ReadonlySet<string> {
  const reads = new Set<string>();
  const added = new Set<string>();
  for (const step of steps) {
    for (const name of step.reads) if (!added.has(name)) reads.add(name);
    for (const name of lowered(step.adds.map((field) => field.name))) added.add(name);
  }
  return reads;
}

/** Those that drop rows, and those before them without which they may drop others. */
export function stepsThatDrop(steps: readonly RowStep[]): readonly RowStep[] {
  const needed: RowStep[] = [];
  for (const step of steps.slice(0, steps.findLastIndex(({ drops }) => drops) + 1).reverse()) {
    const names = lowered(step.adds.map(({ name }) => name));
    const isRead = names.some((name) => needed.some(({ reads }) => reads.has(name)));
    // What adds no names that are known hides fields, or adds those that only rows know.
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

/** Adds the captures that took part in the first match; `noDrop` keeps rows that do not match. */
export function regexStep(field: string, expression: RegularExpression, noDrop: boolean): RowStep {
  const names = expression.groups.map(({ name }) => name);
  return {
    ...additions(names.map((name) => ({ name, fieldType: 'string', keyField: false }))),
    reads: new Set([field]),
    cost: costs.regex,
    drops: !noDrop,
    run(row) {
      const values = expression.match(row.field(field) ?? '');
      if (!values) return noDrop;
      for (const [index, name] of names.entries()) {
        const value = values[index];
        if (value !== undefined) row.set(name, value);
      }
      return true;
    },
  };
}

/** Adds what JSON has, under names that only the row knows. */
export const jsonStep: RowStep = {
  reads: new Set(['_raw']),
  cost: costs.json,
  adds: [],
  drops: false,
  shows: (lowerName, before) => before || !messageField(lowerName),
  run(row) {
    for (const [name, value] of jsonFields(row.field('_raw') ?? '')) row.set(name, value);
    return true;
  },
};

/** Adds the time at which the slice of the message begins, ms since the epoch; slices are counted from the epoch. */
export function timesliceStep(lengthMs: number, name: string): RowStep {
  return {
    ...additions([{ name, fieldType: 'long', keyField: false }]),
    reads: new Set(['_messagetime']),
    sliceMs: lengthMs,
    drops: false,
    run(row) {
      row.set(name, String(Math.floor(row.messageTimeMs / lengthMs) * lengthMs));
      return true;
    },
  };
}

export interface Computation {
  /** Names of fields, in lower case. */
  readonly left: string;
  readonly sign: '+' | '-';
  readonly right: string;
}

/** Adds a sum or a difference of two fields. A row in which one of the two is no number gets no field. */
export function computeStep({ left, sign, right }: Computation, field: FieldDescriptor): RowStep {
  return {
    ...additions([field]),
    reads: new Set([left, right]),
    drops: false,
    run(row) {
      const [one, other] = [left, right].map((name) => parseNumeric(row.field(name) ?? ''));
      if (one !== undefined && other !== undefined) row.set(field.name, String(computed(one, sign, other)));
      return true;
    },
  };
}

/** Whole numbers stay exact; all others are doubles. */
function computed(one: Numeric, sign: Computation['sign'], other: Numeric): Numeric {
  const areWhole = [one, other].every((value) => typeof value === 'bigint' || Number.isSafeInteger(value));
  const [left, right] = areWhole ? [BigInt(one), BigInt(other)] : [Number(one), Number(other)];
  if (typeof left === 'bigint' && typeof right === 'bigint') return sign === '+' ? left + right : left - right;
  return sign === '+' ? Number(left) + Number(right) : Number(left) - Number(right);
}

/** `fields a, b`: hides all others. `sees` is what was seen of stored fields before. */
export function keepStep(names: readonly string[], sees: Visibility): RowStep & { readonly sees: Visibility } {
  const kept = new Set([...lowered(names), ...alwaysListed]);
  return restriction((lowerName) => kept.has(lowerName), sees);
}

/** `fields - a, b`: hides these. */
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
