/** What holds of a row or a record, put together from parts that hold: cheap parts are asked first, and what is always so is not asked. */

/** Whatever has fields with names: a row, a record. */
export interface Fields {
  /** Undefined where there is none. The case of the name does not count. */
  field(name: string): string | undefined;
}

export interface Predicate {
  /** Names of fields in lower case; nothing else decides. */
  readonly reads: ReadonlySet<string>;
  /** About how dear it is to ask, next to others. */
  readonly cost: number;
  holds(fields: Fields): boolean;
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
