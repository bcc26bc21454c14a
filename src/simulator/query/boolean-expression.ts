/**
 * `and`, `or`, `not` and parentheses around whatever holds or does not: the search before the first `|`, and conditions behind it.
 *
 * `not` binds closest, `or` loosest. What stands between them is read by whoever asks.
 */
import type { Cursor } from './cursor.ts';
import { allOf, anyOf, not, type Predicate } from './predicate.ts';

export interface Primary {
  /** Reads one thing that holds or does not; throws where none stands here. */
  parse(): Predicate;
  /** Whether two of them side by side mean both. */
  readonly sideBySide: boolean;
}

/** Parsers and predicates call themselves as deep as parentheses stand in each other. */
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

/** `!`, unless it begins `!=`. */
function takeBang(cursor: Cursor): boolean {
  return !cursor.startsWith('!=') && cursor.take('!');
}

function parseOperand(cursor: Cursor, primary: Primary, depth: number): Predicate {
  const start = cursor.offset;
  if (!cursor.take('(')) return primary.parse();
  if (depth === deepest) throw cursor.error(start, `parentheses stand more than ${deepest} deep in each other`);
  const inner = parseBoolean(cursor, primary, depth + 1);
  cursor.expect(')');
  return inner;
}
