/**
 * Parses boolean expressions with `and`, `or`, `not` and parentheses. `not` binds most tightly, and `or` binds least
 * tightly.
 */
import type { Cursor } from './cursor.ts';
import { allOf, anyOf, not, type Predicate } from './predicate.ts';

export interface Primary {
  /** Parses one operand. Throws if there is no operand. */
  parse(): Predicate;
  /** Whether adjacent operands are joined by an implicit `and`. */
  readonly sideBySide: boolean;
}

/** Maximum nesting depth of parentheses. It protects the parser from a stack overflow. */
const deepest = 100;

export function parseBoolean(cursor: Cursor, primary: Primary, depth = 0): Predicate {
  const operands = [parseConjunction(cursor, primary, depth)];
  while (cursor.takeKeyword('or')) operands.push(parseConjunction(cursor, primary, depth));
  return anyOf(operands);
}

function parseConjunction(cursor: Cursor, primary: Primary, depth: number): Predicate {
  const operands = [parseNegation(cursor, primary, depth)];
  while (cursor.takeKeyword('and') || (primary.sideBySide && goesOn(cursor))) {
    operands.push(parseNegation(cursor, primary, depth));
  }
  return allOf(operands);
}

function goesOn(cursor: Cursor): boolean {
  const start = cursor.offset;
  const isOr = cursor.takeKeyword('or');
  cursor.moveTo(start);
  return !isOr && !cursor.atEnd && !cursor.startsWith('|') && !cursor.startsWith(')');
}

function parseNegation(cursor: Cursor, primary: Primary, depth: number): Predicate {
  let negated = false;
  while (cursor.takeKeyword('not') || takeBang(cursor)) negated = !negated;
  const operand = parseOperand(cursor, primary, depth);
  return negated ? not(operand) : operand;
}

function takeBang(cursor: Cursor): boolean {
  return !cursor.startsWith('!=') && cursor.take('!');
}

function parseOperand(cursor: Cursor, primary: Primary, depth: number): Predicate {
  const start = cursor.offset;
  if (!cursor.take('(')) return primary.parse();
  if (depth === deepest) throw cursor.error(start, `parentheses are nested more than ${deepest} levels deep`);
  const inner = parseBoolean(cursor, primary, depth + 1);
  cursor.expect(')');
  return inner;
}
