/**
 * Detects queries that overwrite or hide a field on which the proof of an export depends (E9): `_messagetime` and `_receipttime` assign a
 * row to an interval, and `_messageid` identifies rows.
 *
 * The query is not fully parsed. A field counts as overwritten if its name follows `as` or `extract`, names a group of a regular
 * expression, or is a key that an operator turns into a field. A field counts as hidden if `fields -` names it. Operators that take all
 * names from the messages, such as `json auto`, are not detected.
 */
import type { Explanation } from './finding.ts';

/**
 * Fields that logfleet needs to prove an export complete, as alternatives of a regular expression, which must ignore upper and
 * lower case.
 */
const provingFields = '_messagetime|_messageid|_receipttime';
const isProvingField = new RegExp(`^(?:${provingFields})$`, 'i');
/** Regular expression for the whole name of a field that the proof of an export needs. A longer name does not match. */
const provingName = `(${provingFields})(?![\\w.-])`;

/**
 * Returns the first field, in lower case, that the query overwrites or hides although the proof of the export needs it. Undefined if there
 * is none.
 */
export function rewrittenField(query: string): string | undefined {
  const [, ...operators] = operatorsOf(query);
  for (const { outside, texts } of operators) {
    const field = aliasIn(outside) ?? hiddenIn(outside) ?? keyIn(outside) ?? groupIn([outside, ...texts]);
    if (field !== undefined) return field.toLowerCase();
  }
  return undefined;
}

interface OperatorText {
  /**
   * Text of one operator of the query. Each quoted string is replaced by a space, unless it is the name of a field that logfleet needs to
   * prove that no row is missing.
   */
  readonly outside: string;
  readonly texts: readonly string[];
}

/**
 * Character that marks the place of a quoted text in a query. It is from a private-use area of Unicode, so no query should contain it.
 */
const mark = '\uE000';
const markedText = new RegExp(`${mark}(\\d+)${mark}`, 'g');
/** Matches the placeholder of a quoted text, and a `%` before it, which marks a quoted field name. */
const markedName = new RegExp(`%?${mark}(\\d+)${mark}`, 'g');
const quotedForm = /"((?:[^"\\]|\\[\s\S])*)"/g;

/** Splits a query into operators, at its pipes outside of quotes. */
function operatorsOf(query: string): readonly OperatorText[] {
  const texts: string[] = [];
  // Each quoted text is replaced by its index between two mark characters, so that the query can be split at the pipes outside of
  // quotes.
  const marked = query.replace(quotedForm, (_quoted, text: string) => `${mark}${texts.push(text) - 1}${mark}`);
  return marked.split('|').map((part) => {
    const own = [...part.matchAll(markedText)].map(([, index]) => texts[Number(index)] ?? '');
    const outside = part.replace(markedName, (_mark, index: string) => {
      const text = texts[Number(index)] ?? '';
      return isProvingField.test(text) ? text : ' ';
    });
    return { outside: outside.replace(/(?:\s|\/\*[\s\S]*?\*\/)+/g, ' ').trim(), texts: own };
  });
}

/**
 * Returns the field that an operator creates after `as` or `extract`, as in `parse "time=*" as _messagetime`. Only fields that
 * the proof of an export needs are found, even inside a list of names.
 */
function aliasIn(outside: string): string | undefined {
  return new RegExp(`\\b(?:as|extract) (?:[\\w.-]* ?, ?)*['\`%]?${provingName}`, 'i').exec(outside)?.[1];
}

/** Returns the field that an operator such as `fields - _messageid` hides. */
function hiddenIn(outside: string): string | undefined {
  const [, names = ''] = /^fields ?-(.*)$/i.exec(outside) ?? [];
  return new RegExp(`(?<![\\w.])${provingName}`, 'i').exec(names)?.[1];
}

/** Returns the field that `json "_messagetime"` creates: without `as`, the field has the name of the key. */
function keyIn(outside: string): string | undefined {
  if (!/^(?:json|keyvalue|kv|lookup)\b/i.test(outside) || / as /i.test(outside)) return undefined;
  const keys = outside.replace(/\bfield ?= ?[\w.-]+/i, '').replace(/ from .*/i, '');
  return new RegExp(`(?<![\\w.-])${provingName}`, 'i').exec(keys)?.[1];
}

/** Returns the field that a named group of a regular expression creates, as in `parse regex "(?<_messagetime>\d+)"`. */
function groupIn(texts: readonly string[]): string | undefined {
  const group = new RegExp(`\\(\\?P?[<'](${provingFields})[>']`, 'i');
  return texts.map((text) => group.exec(text)?.[1]).find((field) => field !== undefined);
}

/** Explains why a query must not overwrite or hide this field. */
export function rewrittenProblem(field: string): Explanation {
  const problem = `the query overwrites or hides the field ${field}, but logfleet needs this field to prove that no row is missing`;
  return { problem, remedy: 'write another name for the new field' };
}
