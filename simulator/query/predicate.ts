/** Conditions in queries. If a query combines several conditions, the fastest one is evaluated first. */
import type { ScalarValue } from './numeric.ts';

/** Fields of a message or record. */
export interface FieldSource {
  /** Returns the value of a field by its lower-case name, or undefined if the field is missing. */
  field(lowerName: string): ScalarValue | undefined;
}

export interface Predicate {
  readonly reads: ReadonlySet<string>;
  /** Estimated cost of evaluating the condition. The unit is the cost of comparing two short strings. */
  readonly cost: number;
  holds(fields: FieldSource): boolean;
}

export const everything: Predicate = { reads: new Set(), cost: 0, holds: () => true };

export function allOf(operands: readonly Predicate[]): Predicate {
  const parts = cheapestFirst(operands.filter((operand) => operand !== everything));
  const [only] = parts;
  if (only === undefined) return everything;
  if (parts.length === 1) return only;
  return { ...together(parts), holds: (fields) => parts.every((part) => part.holds(fields)) };
}

export function anyOf(operands: readonly Predicate[]): Predicate {
  if (operands.includes(everything)) return everything;
  const [only] = operands;
  if (only && operands.length === 1) return only;
  const parts = cheapestFirst(operands);
  return { ...together(parts), holds: (fields) => parts.some((part) => part.holds(fields)) };
}

export function not(operand: Predicate): Predicate {
  return { ...together([operand]), holds: (fields) => !operand.holds(fields) };
}

function cheapestFirst(parts: readonly Predicate[]): readonly Predicate[] {
  return parts.toSorted((left, right) => left.cost - right.cost);
}

function together(parts: readonly Predicate[]): Pick<Predicate, 'reads' | 'cost'> {
  return {
    reads: new Set(parts.flatMap(({ reads }) => [...reads])),
    cost: parts.reduce((sum, { cost }) => sum + cost, 0),
  };
}
