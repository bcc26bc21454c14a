/**
 * Decides whether an export can run its query separately for each interval (E8). This is possible if all operators
 * process each row on its own. A query with unknown operators counts as not splittable, because a wrong decision would
 * export wrong rows. The query is only split at its pipes, not fully parsed.
 */
import { shortened } from '../base/short-text.ts';
import { nearest } from './did-you-mean.ts';

export type Splittability =
  | { readonly isSplittable: true }
  | {
      readonly isSplittable: false;
      /** Reason why the query cannot be split, as a sentence without a full stop. */
      readonly reason: string;
      /**
       * True if operators that select or sort rows, such as `limit`, are the only reason why the query cannot be split.
       */
      readonly onlyChooses: boolean;
    };

export function splittability(query: string): Splittability {
  const reason = problemOf(query);
  return reason === undefined
    ? { isSplittable: true }
    : { isSplittable: false, reason, onlyChooses: problemOf(query, choosingForm) === undefined };
}

/** Matches query operators that select or sort rows. These operators need all rows at once. */
const choosingForm = /^(?:limit|sort|order)(?=\s|$)/i;

/**
 * Returns why a query cannot be split, or undefined if it can be split. Operators that match `overlooked` are not
 * checked.
 */
function problemOf(query: string, overlooked?: RegExp): string | undefined {
  const quotes = readQuotes(query);
  if (!quotes.areClosed) return 'it has a quote without an end';
  // If it is ambiguous where quotes begin and end, the whole query is searched for operators, including quoted text.
  const text = doubts.some((doubt) => doubt.test(quotes.outside)) ? query : quotes.outside;
  if (text.includes('['))
    return 'the query may contain a subquery, which would run for the time range of each search instead of the whole time range';
  const [, ...operators] = text.split('|');
  for (const operator of operators) {
    const problem = overlooked?.test(operator.trim()) ? undefined : operatorProblem(operator.trim());
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Matches a text in double quotes. If the closing quote is missing, matches the rest of the query. A quote after a
 * backslash does not end the text. The groups are the text without its quotes, and the closing quote.
 */
export const quotedForm = /"((?:[^"\\]|\\[\s\S])*)("?)/g;

/** Replaces each text in double quotes with `" "`. */
function readQuotes(query: string): { readonly outside: string; readonly areClosed: boolean } {
  let areClosed = true;
  const outside = query.replace(quotedForm, (_quoted, _text, end: string) => {
    areClosed &&= end !== '';
    return '" "';
  });
  return { outside, areClosed };
}

/** Patterns for text that makes quoting ambiguous: comments, apostrophes, backticks and escaped quotes. */
const doubts: readonly RegExp[] = [/\/\/|\/\*[\s\S]*\*\//, /['`]/, /\\"/];

/** Name of an operator and the text after it. */
const operatorForm = /^([a-z]\w*)(?=[\s("]|$)([\s\S]*)$/i;

function operatorProblem(operator: string): string | undefined {
  const [, word, rest = ''] = operatorForm.exec(operator) ?? [];
  if (word === undefined) return `${shown(operator)} is not known to handle each row separately`;
  const name = word.toLowerCase();
  const isFunction = rowFunctions.has(name) && rest.trimStart().startsWith('(');
  const form = rowOperators.get(name);
  if (!isFunction && !form?.test(rest)) {
    const isKnown = form !== undefined;
    const what = isKnown ? `${name}, as it is written here,` : `the operator ${name}`;
    const meant = nearest(name, [...rowOperators.keys(), ...otherOperators]);
    const hint = meant === undefined || meant === name ? '' : ` (did you mean ${meant}?)`;
    return `${what} is not known to handle each row separately${hint}`;
  }
  // Because of the word boundary, the pattern tries each word only once. The time is therefore linear in the length of
  // the query.
  for (const [, called = ''] of rest.matchAll(/\b(\w+)\s*\(/g)) {
    const call = called.toLowerCase();
    if (!rowFunctions.has(call) && !conditionWords.has(call)) {
      return `the function ${call} may depend on the search's time range`;
    }
  }
  return undefined;
}

/** Renders a part of the query for a message: quoted, on one line, at most 40 characters. */
function shown(text: string): string {
  const line = text.replace(/[\s;]+/g, ' ').trim();
  return JSON.stringify(shortened(line, 40));
}

/**
 * Matches the text of an operator, unless it contains the option `multi`. This option makes several rows from one
 * message (E9).
 */
const withoutMulti = /^(?![\s\S]*\bmulti)/i;
const any = /^/;

/** Query operators that process each row separately, each with a pattern for the text after the operator's name. */
const rowOperators: ReadonlyMap<string, RegExp> = new Map([
  ['where', any],
  ['fields', any],
  ['parse', withoutMulti],
  ['parseregex', withoutMulti],
  ['extract', withoutMulti],
  ['json', withoutMulti],
  ['csv', withoutMulti],
  ['xml', withoutMulti],
  ['keyvalue', withoutMulti],
  ['kv', withoutMulti],
  ['split', withoutMulti],
  // Time slices must have a fixed length, so that they start at the same times in every search. If the query sets only
  // the number of slices, their length depends on the search's time range.
  ['timeslice', /^\s+(?:\d+(?:ms|s|m|h|d|w))+(?:\s+as\s+[\w.-]+)?$/i],
]);

/**
 * Common query operators that need several rows at once. They are listed so that logfleet does not mistake their names
 * for misspelt names of other operators.
 */
const otherOperators: readonly string[] = [
  ...['count', 'count_distinct', 'sum', 'avg', 'min', 'max', 'first', 'last', 'latest', 'pct', 'median', 'stddev'],
  ...['values', 'sort', 'order', 'limit', 'top', 'topk', 'dedup', 'join', 'lookup', 'transpose', 'total', 'rank'],
  ...['transaction', 'transactionize'],
];

/**
 * Functions whose result depends only on the values of one row. The function `now` is left out, because its result
 * depends on the time.
 */
const rowFunctions: ReadonlySet<string> = new Set([
  ...['if', 'isnull', 'isempty', 'isblank', 'isnumeric', 'num', 'number', 'tolong', 'toint', 'double', 'long', 'int'],
  ...['abs', 'ceil', 'floor', 'round', 'sqrt', 'log', 'log10', 'exp', 'pow'],
  ...['tolowercase', 'touppercase', 'lower', 'upper', 'trim', 'length', 'concat', 'substring', 'replace', 'contains'],
  ...['urldecode', 'urlencode', 'base64decode', 'base64encode', 'dectohex', 'hextodec'],
]);

/** Keywords that can precede a parenthesis in a condition. They are not names of functions. */
const conditionWords: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'where']);
