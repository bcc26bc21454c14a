/**
 * Whether a query may be searched interval by interval (E8): only if all of its operators work on each row by itself, and none of it
 * depends on the range that is searched. What is not known to be so is not split: that costs an export beyond the limit its
 * completeness, which is said, where the reverse would give wrong rows in silence.
 *
 * The query is not parsed, only cut at its pipes. A pipe between double quotes is none, as long as it is plain what is between
 * quotes; where an apostrophe, a comment or a backslash before a quote leaves room for doubt, every pipe counts as one, and whatever
 * the service takes for an operator is looked at in any case.
 */

export type Splittability =
  | { readonly isSplittable: true }
  | {
      readonly isSplittable: false;
      /** A sentence for people, without its full stop. */
      readonly reason: string;
      /** Whether nothing but operators that choose or sort rows keeps it from that: it makes no records. */
      readonly onlyChooses: boolean;
    };

export function splittability(query: string): Splittability {
  const reason = problemOf(query);
  return reason === undefined
    ? { isSplittable: true }
    : { isSplittable: false, reason, onlyChooses: problemOf(query, choosingForm) === undefined };
}

/** Operators that make no other rows, and see more than one. */
const choosingForm = /^(?:limit|sort|order)(?=\s|$)/i;

/** Where there is `overlooked`, nothing is said against such operators. */
function problemOf(query: string, overlooked?: RegExp): string | undefined {
  const quotes = readQuotes(query);
  if (!quotes.areClosed) return 'it has a quote that does not end';
  // Between quotes nothing is looked at where it is plain that they are quotes.
  const text = hasDoubt(quotes.outside) ? query : quotes.outside;
  if (text.includes('[')) return 'a subquery, or what may be one, is evaluated for the range of each search';
  const [, ...operators] = text.split('|');
  for (const operator of operators) {
    const problem = overlooked?.test(operator.trim()) ? undefined : operatorProblem(operator.trim());
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The query with nothing but a blank between double quotes; a backslash makes the quote behind it a character. */
function readQuotes(query: string): { readonly outside: string; readonly areClosed: boolean } {
  let outside = '';
  let isInside = false;
  for (let at = 0; at < query.length; at++) {
    const character = query[at] as string;
    if (character === '"') {
      isInside = !isInside;
      outside += isInside ? '"' : ' "';
    } else if (!isInside) {
      outside += character;
    } else if (character === '\\') {
      at++;
    }
  }
  return { outside, areClosed: !isInside };
}

/** Comments of both kinds, where `prod/*` alone begins none; other quotes; and a quote that a backslash may make a character. */
const doubts: readonly RegExp[] = [/\/\/|\/\*[\s\S]*\*\//, /['`]/, /\\"/];

function hasDoubt(outside: string): boolean {
  return doubts.some((doubt) => doubt.test(outside));
}

/** A word and what stands behind it, up to the pipe. */
const operatorForm = /^([a-z]\w*)(?=[\s("]|$)([\s\S]*)$/i;

function operatorProblem(operator: string): string | undefined {
  const [, word, rest = ''] = operatorForm.exec(operator) ?? [];
  if (word === undefined) return `${shown(operator)} is no operator that is known to work on each row by itself`;
  const name = word.toLowerCase();
  const isFunction = rowFunctions.has(name) && rest.trimStart().startsWith('(');
  const form = rowOperators.get(name);
  if (!isFunction && !form?.test(rest)) {
    const isKnown = form !== undefined;
    const what = isKnown ? `${name}, as it is written here,` : `the operator ${name}`;
    return `${what} is not known to work on each row by itself`;
  }
  for (const [, called = ''] of rest.matchAll(/(\w+)\s*\(/g)) {
    const call = called.toLowerCase();
    if (!rowFunctions.has(call) && !conditionWords.has(call)) {
      return `the function ${call} is not known to give the same whatever range is searched`;
    }
  }
  return undefined;
}

/** Of a query anything can be a part: short, on one line, and with everything strange escaped. */
function shown(text: string): string {
  const line = text.replace(/[\s;]+/g, ' ').trim();
  return JSON.stringify(line.length > 40 ? `${line.slice(0, 40)}…` : line);
}

/** `multi` makes several rows of one, which nothing tells apart from rows that come again (E9). */
const withoutMulti = /^(?![\s\S]*\bmulti)/i;
const any = /^/;

/** Operators, and what may stand behind them, quoted texts left out. */
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
  // Slices of a length begin at the same times whatever is searched; a number of buckets divides the range.
  ['timeslice', /^\s+(?:\d+(?:ms|s|m|h|d|w))+(?:\s+as\s+[\w.-]+)?$/i],
]);

/** What gives a value for the values of one row. Not `now`, and nothing that tells of the range of the search. */
const rowFunctions: ReadonlySet<string> = new Set([
  ...['if', 'isnull', 'isempty', 'isblank', 'isnumeric', 'num', 'number', 'tolong', 'toint', 'double', 'long', 'int'],
  ...['abs', 'ceil', 'floor', 'round', 'sqrt', 'log', 'log10', 'exp', 'pow'],
  ...['tolowercase', 'touppercase', 'lower', 'upper', 'trim', 'length', 'concat', 'substring', 'replace', 'contains'],
  ...['urldecode', 'urlencode', 'base64decode', 'base64encode', 'dectohex', 'hextodec'],
]);

/** Words of a condition before a parenthesis. */
const conditionWords: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'where']);
