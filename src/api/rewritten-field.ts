/**
 * Finds queries that overwrite or hide `_messagetime`, `_receipttime` or `_messageid`, which an export needs to check
 * its rows (E9).
 *
 * The query is not fully parsed, and operators that take field names from messages, such as `json auto`, are not
 * detected.
 */
import type { Explanation } from './finding.ts';
import { quotedForm } from './splittable.ts';

/** Source of a regular expression for the fields that an export needs to check its rows. */
const provingFields = '_messagetime|_messageid|_receipttime';
const isProvingField = new RegExp(`^(?:${provingFields})$`, 'i');
/** Source of a regular expression that matches the whole name of a field that an export needs to check its rows. */
const provingName = `(${provingFields})(?![\\w.-])`;

/**
 * Returns the first field that the query overwrites or hides, although an export needs this field to check its rows.
 * The returned name is in lower case. Returns undefined if there is no such field.
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
   * Text of one query operator. Each quoted string is replaced with a space, unless it is the name of a field that an
   * export needs to check its rows.
   */
  readonly outside: string;
  readonly texts: readonly string[];
}

/**
 * Character before and after the index that replaces a quoted text in a query. It is a private-use Unicode character,
 * which does not occur in queries.
 */
const mark = '\uE000';
const markedText = new RegExp(`${mark}(\\d+)${mark}`, 'g');
/**
 * Matches the index that replaces a quoted text, with its delimiters. The match includes a preceding `%`, which
 * introduces a quoted field name.
 */
const markedName = new RegExp(`%?${mark}(\\d+)${mark}`, 'g');

/** Splits a query at its pipes outside of quotes. */
function operatorsOf(query: string): readonly OperatorText[] {
  const texts: string[] = [];
  // Each quoted text is replaced with its index, so that a pipe in quotes does not split the query.
  const marked = query.replace(quotedForm, (quoted, text: string, end: string) =>
    end === '' ? quoted : `${mark}${texts.push(text) - 1}${mark}`,
  );
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
 * Returns the field that an operator overwrites after `as` or `extract`, as in `parse "time=*" as _messagetime`.
 * Considers only the fields that an export needs to check its rows.
 */
function aliasIn(outside: string): string | undefined {
  // Removes blanks after commas, so that the pattern can match a list of names in only one way. If there were several
  // ways, a match could take exponential time.
  const form = new RegExp(`\\b(?:as|extract) (?:[\\w.-]* ?,)*['\`%]?${provingName}`, 'i');
  return form.exec(outside.replaceAll(', ', ','))?.[1];
}

/** Returns the field that an operator such as `fields - _messageid` hides, if an export needs this field. */
function hiddenIn(outside: string): string | undefined {
  const [, names = ''] = /^fields ?-(.*)$/i.exec(outside) ?? [];
  return new RegExp(`(?<![\\w.])${provingName}`, 'i').exec(names)?.[1];
}

/** Returns the field that an operator such as `json "_messagetime"` overwrites, if an export needs this field. */
function keyIn(outside: string): string | undefined {
  if (!/^(?:json|keyvalue|kv|lookup)\b/i.test(outside) || / as /i.test(outside)) return undefined;
  const keys = outside.replace(/\bfield ?= ?[\w.-]+/i, '').replace(/ from .*/i, '');
  return new RegExp(`(?<![\\w.-])${provingName}`, 'i').exec(keys)?.[1];
}

/**
 * Returns the field that a named group of a regular expression overwrites, as in `parse regex "(?<_messagetime>\d+)"`.
 * Considers only the fields that an export needs to check its rows.
 */
function groupIn(texts: readonly string[]): string | undefined {
  const group = new RegExp(`\\(\\?P?[<'](${provingFields})[>']`, 'i');
  return texts.map((text) => group.exec(text)?.[1]).find((field) => field !== undefined);
}

/** Explains to users why a query must not overwrite or hide a field that exports need. */
export function rewrittenProblem(field: string): Explanation {
  const problem = `the query overwrites or hides the field ${field}, but logfleet needs this field to prove that no row is missing`;
  return { problem, remedy: 'use another name for the new field' };
}
