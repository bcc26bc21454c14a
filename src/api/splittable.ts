/**
 * Decides whether a query can be split, that is, searched interval by interval (E8). Each operator of the query must process each
 * row on its own, whatever time range is searched. An unknown operator counts as not splittable, because wrong splitting would
 * export wrong rows. An export whose query is not split is reported as incomplete if it has too many rows for one search.
 *
 * The query is not fully parsed, only split at its pipes. Pipes between double quotes are skipped if the quoting is unambiguous.
 * If apostrophes, comments or escaped quotes make it ambiguous, the query is split at every pipe.
 */

export type Splittability =
  | { readonly isSplittable: true }
  | {
      readonly isSplittable: false;
      /** Reason why the query cannot be searched interval by interval, as a sentence without a full stop. */
      readonly reason: string;
      /**
       * True if the only operators that prevent splitting select or sort rows, such as `limit`. The results of the query are then messages,
       * not records.
       */
      readonly onlyChooses: boolean;
    };

export function splittability(query: string): Splittability {
  const reason = problemOf(query);
  return reason === undefined
    ? { isSplittable: true }
    : { isSplittable: false, reason, onlyChooses: problemOf(query, choosingForm) === undefined };
}

/** Operators that select or sort rows, and therefore need all rows at once. */
const choosingForm = /^(?:limit|sort|order)(?=\s|$)/i;

/**
 * Returns the first reason why a query cannot be searched interval by interval, or undefined if it can. Operators that match the pattern
 * `overlooked` are not checked.
 */
function problemOf(query: string, overlooked?: RegExp): string | undefined {
  const quotes = readQuotes(query);
  if (!quotes.areClosed) return 'it has a quote without an end';
  // If the quoting of the query is ambiguous, texts in quotes are also searched for pipes and operators.
  const text = doubts.some((doubt) => doubt.test(quotes.outside)) ? query : quotes.outside;
  if (text.includes('['))
    return 'a subquery, or text that may be a subquery, is evaluated for the range of each search';
  const [, ...operators] = text.split('|');
  for (const operator of operators) {
    const problem = overlooked?.test(operator.trim()) ? undefined : operatorProblem(operator.trim());
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Replaces each text between double quotes in a query by a blank. A quote after a backslash does not end the text. */
function readQuotes(query: string): { readonly outside: string; readonly areClosed: boolean } {
  const outside = query.replace(/"(?:\\[\s\S]|[^"\\])*"/g, '" "');
  return { outside, areClosed: !outside.replaceAll('" "', '').includes('"') };
}

/**
 * Patterns that make the quoting in a query ambiguous: both kinds of comments (`prod/*` alone is not a comment), apostrophes,
 * backticks, and escaped quotes.
 */
const doubts: readonly RegExp[] = [/\/\/|\/\*[\s\S]*\*\//, /['`]/, /\\"/];

/** Splits an operator of the query into its name and the text after it. */
const operatorForm = /^([a-z]\w*)(?=[\s("]|$)([\s\S]*)$/i;

function operatorProblem(operator: string): string | undefined {
  const [, word, rest = ''] = operatorForm.exec(operator) ?? [];
  if (word === undefined) return `${shown(operator)} is not an operator that is known to handle each row separately`;
  const name = word.toLowerCase();
  const isFunction = rowFunctions.has(name) && rest.trimStart().startsWith('(');
  const form = rowOperators.get(name);
  if (!isFunction && !form?.test(rest)) {
    const isKnown = form !== undefined;
    const what = isKnown ? `${name}, as it is written here,` : `the operator ${name}`;
    return `${what} is not known to be row-wise`;
  }
  for (const [, called = ''] of rest.matchAll(/(\w+)\s*\(/g)) {
    const call = called.toLowerCase();
    if (!rowFunctions.has(call) && !conditionWords.has(call)) {
      return `the function ${call} may depend on the searched range`;
    }
  }
  return undefined;
}

/** Renders a part of the query for a message: in quotes, on one line, at most 40 characters, with special characters escaped. */
function shown(text: string): string {
  const line = text.replace(/[\s;]+/g, ' ').trim();
  return JSON.stringify(line.length > 40 ? `${line.slice(0, 40)}…` : line);
}

/** Pattern that excludes the option `multi`, which makes several rows from one message. Such rows look like duplicates (E9). */
const withoutMulti = /^(?![\s\S]*\bmulti)/i;
const any = /^/;

/** Operators that process each row on its own. Apart from quoted texts, the text after the name must match the pattern of the operator. */
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
  // A length of time slices is allowed, because slices then start at the same times for every searched range. A number of slices is not: it
  // would divide the searched range.
  ['timeslice', /^\s+(?:\d+(?:ms|s|m|h|d|w))+(?:\s+as\s+[\w.-]+)?$/i],
]);

/**
 * Functions whose result depends only on the values of one row. `now`, and functions that depend on the searched time range, are
 * not among them.
 */
const rowFunctions: ReadonlySet<string> = new Set([
  ...['if', 'isnull', 'isempty', 'isblank', 'isnumeric', 'num', 'number', 'tolong', 'toint', 'double', 'long', 'int'],
  ...['abs', 'ceil', 'floor', 'round', 'sqrt', 'log', 'log10', 'exp', 'pow'],
  ...['tolowercase', 'touppercase', 'lower', 'upper', 'trim', 'length', 'concat', 'substring', 'replace', 'contains'],
  ...['urldecode', 'urlencode', 'base64decode', 'base64encode', 'dectohex', 'hextodec'],
]);

/** Keywords of conditions. A keyword before a parenthesis is not the name of a function. */
const conditionWords: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'where']);
