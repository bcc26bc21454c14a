/**
 * Parses conditions of the `where` operator. A missing field is treated as empty text, and text comparisons ignore
 * case.
 */
import { parseBoolean } from './boolean-expression.ts';
import type { Cursor } from './cursor.ts';
import { compareNumerics, compareTexts, type Numeric, numericOf, parseNumeric } from './numeric.ts';
import type { FieldSource, Predicate } from './predicate.ts';
import { expectQuoted, takeName, takeQuoted } from './quoted.ts';
import { cutAtWildcards, wildcardTest, withoutWildcards } from './wildcard.ts';

type Operand =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'number'; readonly value: Numeric }
  | { readonly kind: 'text'; readonly text: string };

const comparisons = ['!=', '<=', '>=', '=', '<', '>'] as const;
type Comparison = (typeof comparisons)[number];

const numberForm = /-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_.])/uy;
/** Description of valid numbers, for error messages. */
const countableNumber = 'a number below 1.8e308, or an integer with at most 1000 digits';
const cost = 2;

/** Parses a condition of `where`. `checkField` throws for an unknown field. */
export function parseCondition(cursor: Cursor, checkField: (name: string, offset: number) => void): Predicate {
  return parseBoolean(cursor, { parse: () => parseComparison(cursor, checkField), sideBySide: false });
}

function parseComparison(cursor: Cursor, checkField: (name: string, offset: number) => void): Predicate {
  const left = parseOperand(cursor, checkField);
  if (cursor.takeKeyword('matches')) {
    const fits = wildcardTest(cutAtWildcards(expectQuoted(cursor, 'quoted text, such as "web-*"')));
    const text = textOf(left);
    return { reads: readsOf([left]), cost, holds: (fields) => fits(text(fields)) };
  }
  const comparison = comparisons.find((symbol) => cursor.take(symbol));
  if (comparison === undefined) throw cursor.expected('one of =, !=, <, <=, >, >= or matches');
  const right = parseOperand(cursor, checkField);
  return { reads: readsOf([left, right]), cost, holds: compare(left, comparison, right) };
}

function parseOperand(cursor: Cursor, checkField: (name: string, offset: number) => void): Operand {
  const start = cursor.offset;
  const quoted = takeQuoted(cursor);
  if (quoted !== undefined) return { kind: 'text', text: withoutWildcards(quoted) };
  const digits = cursor.match(numberForm);
  if (digits !== undefined) {
    const value = parseNumeric(digits);
    if (value === undefined) throw cursor.expected(countableNumber, start);
    return { kind: 'number', value };
  }
  const name = takeName(cursor);
  if (name === undefined) throw cursor.expected('a field name, a number or quoted text');
  checkField(name, start);
  return { kind: 'field', name: name.toLowerCase() };
}

function readsOf(operands: readonly Operand[]): ReadonlySet<string> {
  return new Set(operands.flatMap((operand) => (operand.kind === 'field' ? [operand.name] : [])));
}

/**
 * Compares the operands of a condition. Each operand is a field, a number or quoted text:
 * - If one operand is a number, the values are compared as numbers. A value that is not a number differs from every
 *   number.
 * - Otherwise, if one operand is text, the values are compared as text.
 * - If both operands are fields, their values are compared as numbers if both are numbers, and otherwise as text.
 */
function compare(left: Operand, comparison: Comparison, right: Operand): (fields: FieldSource) => boolean {
  const byNumber = left.kind === 'number' || right.kind === 'number';
  const byText = !byNumber && (left.kind === 'text' || right.kind === 'text');
  const [leftText, rightText] = [textOf(left), textOf(right)];
  const [leftNumber, rightNumber] = [numberOf(left), numberOf(right)];
  return (fields) => {
    if (!byText) {
      const one = leftNumber(fields);
      const other = one === undefined ? undefined : rightNumber(fields);
      if (one !== undefined && other !== undefined) return satisfies(compareNumerics(one, other), comparison);
      if (byNumber) return comparison === '!=';
    }
    const order = compareTexts(leftText(fields).toLowerCase(), rightText(fields).toLowerCase());
    return satisfies(order, comparison);
  };
}

function satisfies(order: number, comparison: Comparison): boolean {
  switch (comparison) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

function textOf(operand: Operand): (fields: FieldSource) => string {
  switch (operand.kind) {
    case 'field':
      return (fields) => String(fields.field(operand.name) ?? '');
    case 'number':
      return () => String(operand.value);
    case 'text':
      return () => operand.text;
  }
}

function numberOf(operand: Operand): (fields: FieldSource) => Numeric | undefined {
  switch (operand.kind) {
    case 'field':
      return (fields) => numericOf(fields.field(operand.name) ?? '');
    case 'number':
      return () => operand.value;
    case 'text': {
      const value = parseNumeric(operand.text);
      return () => value;
    }
  }
}
