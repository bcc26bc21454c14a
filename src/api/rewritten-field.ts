/**
 * Whether a query writes over a field that an export is proven by: `_messagetime` and `_receipttime`, which say to which interval a row
 * belongs, and `_messageid`, which tells rows apart (E9).
 *
 * The query is not parsed. A field counts as written where its name stands behind `as`, names a group of a regular expression, or is a
 * key that an operator makes a field of; and as hidden where `fields -` names it. Operators that take all names from the messages, such
 * as `json auto`, are not judged.
 */

/** Names mean the same in any case of letters. */
const provingFields = '_messagetime|_messageid|_receipttime';
const isProving = new RegExp(`^(?:${provingFields})$`, 'i');
/** Not the beginning of a longer name. */
const provingName = `(${provingFields})(?![\\w.-])`;

/** The field, in lower case; undefined where the query writes over none. */
export function rewrittenField(query: string): string | undefined {
  const [, ...operators] = operatorsOf(query);
  for (const { outside, texts } of operators) {
    const field = aliasIn(outside) ?? hiddenIn(outside) ?? keyIn(outside) ?? groupIn(texts);
    if (field !== undefined) return field.toLowerCase();
  }
  return undefined;
}

interface OperatorText {
  /** With a blank in the place of each quoted text, unless that is the name of a field. */
  readonly outside: string;
  readonly texts: readonly string[];
}

/** Of a private area of Unicode. */
const mark = '\uE000';
const markedText = new RegExp(`${mark}(\\d+)${mark}`, 'g');
/** `%"name"` is a name. */
const markedName = new RegExp(`%?${mark}(\\d+)${mark}`, 'g');
const quotedForm = /"((?:[^"\\]|\\[\s\S])*)"/g;

/** Pipes between quotes divide nothing. */
function operatorsOf(query: string): readonly OperatorText[] {
  const texts: string[] = [];
  // Each text leaves its number, between marks.
  const marked = query.replace(quotedForm, (_quoted, text: string) => `${mark}${texts.push(text) - 1}${mark}`);
  return marked.split('|').map((part) => {
    const own = [...part.matchAll(markedText)].map(([, index]) => texts[Number(index)] ?? '');
    const outside = part.replace(markedName, (_mark, index: string) => {
      const text = texts[Number(index)] ?? '';
      return isProving.test(text) ? text : ' ';
    });
    return { outside: outside.replace(/\s+/g, ' ').trim(), texts: own };
  });
}

/** As in `parse "time=*" as _messagetime`, also behind other names of the list. */
function aliasIn(outside: string): string | undefined {
  return new RegExp(`\\bas (?:[\\w.-]* ?, ?)*${provingName}`, 'i').exec(outside)?.[1];
}

/** As in `fields - _messageid`. */
function hiddenIn(outside: string): string | undefined {
  const [, names = ''] = /^fields ?-(.*)$/i.exec(outside) ?? [];
  return new RegExp(`(?<![\\w.])${provingName}`, 'i').exec(names)?.[1];
}

/** As in `json "_messagetime"`, which names the field after the key where there is no other name. */
function keyIn(outside: string): string | undefined {
  if (!/^(?:json|keyvalue|kv|lookup)\b/i.test(outside) || / as /i.test(outside)) return undefined;
  const keys = outside.replace(/\bfield ?= ?[\w.-]+/i, '').replace(/ from .*/i, '');
  return new RegExp(`(?<![\\w.-])${provingName}`, 'i').exec(keys)?.[1];
}

/** As in `parse regex "(?<_messagetime>\d+)"`. */
function groupIn(texts: readonly string[]): string | undefined {
  const group = new RegExp(`\\(\\?P?<(${provingFields})>`, 'i');
  return texts.map((text) => group.exec(text)?.[1]).find((field) => field !== undefined);
}

/** What is wrong with such a query, without its full stop. */
export function rewrittenProblem(field: string): string {
  return `writes over ${field}, or hides it: rows are put into intervals and told apart by this field, and nothing is proven without it; write another name`;
}
