/**
 * Reads and checks the request body for a new search job. If the body has several problems, returns the one that
 * docs/simulator.md lists first.
 */
import { isRecord } from '../../src/base/record.ts';
import type { TimeZone } from '../../src/base/time-zone.ts';
import { parseLosslessJson, shownJson } from '../base/lossless-json.ts';
import { parseQuery, type Query } from '../query/query.ts';
import { QueryError } from '../query/query-error.ts';
import type { SearchSettings } from '../scenario/search-settings.ts';
import { readTime, resolveTime, type WrittenTime } from './search-time.ts';
import { timeZoneOf } from './time-zone.ts';

export interface SearchDefinition {
  readonly text: string;
  /** The parsed query, or the syntax error if the query is invalid. */
  readonly query: Query | { readonly broken: string };
  /** Requested time range, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
  readonly requiresRawMessages: boolean;
}

/** Error for an invalid request body. `code` is the error code without the service's prefix. */
export interface DefinitionProblem {
  readonly code: string;
  readonly message: string;
}

export type RequestBody = Readonly<Record<string, unknown>>;

/** Valid values of `autoParsingMode`. The service also accepts the values that its earlier versions used. */
const parsingModes = ['AutoParse', 'Manual', 'performance', 'intelligent', 'verbose'];

/** Returns the non-null members of the request body, or undefined if the body is not a JSON object. */
export function readBody(text: string): RequestBody | undefined {
  let value: unknown;
  try {
    value = parseLosslessJson(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

export function readDefinition(
  body: RequestBody | undefined,
  settings: SearchSettings,
): SearchDefinition | DefinitionProblem {
  if (!body) return problem('generic', 'The body is not a JSON object in UTF-8.');
  const { query: text, byReceiptTime = false, requiresRawMessages = false, autoParsingMode = 'Manual' } = body;
  if (text === undefined) return problem('no.query', 'query is missing; set a search, such as *.');
  if (typeof text !== 'string') return misfit('query', text, 'a string');
  if (text.trim() === '') return problem('no.query', 'query is empty; set a search, such as *.');
  const [from, to] = [readTime(body['from']), readTime(body['to'])];
  const zone = zoneOf(body['timeZone'] ?? body['timezone'], zoneNeed([from, to], settings));
  if (zone && 'code' in zone) return zone;
  const wrong = timeProblem('from', body, from) ?? timeProblem('to', body, to);
  if (wrong) return wrong;
  const fromMs = resolveTime(from as Readable, zone);
  const toMs = resolveTime(to as Readable, zone);
  if (fromMs > toMs) return problem('to.smaller.than.from', 'from is later than to; set from to the earlier time.');
  if (typeof byReceiptTime !== 'boolean') return misfit('byReceiptTime', byReceiptTime, 'true or false');
  if (typeof requiresRawMessages !== 'boolean') {
    return misfit('requiresRawMessages', requiresRawMessages, 'true or false');
  }
  if (!parsingModes.some((mode) => mode === autoParsingMode)) {
    return misfit('autoParsingMode', autoParsingMode, `one of ${parsingModes.join(', ')}`);
  }
  const query = readQuery(text, autoParsingMode === 'AutoParse', settings);
  if ('code' in query) return query;
  return { text, query, fromMs, toMs, byReceiptTime, requiresRawMessages };
}

type Readable = Extract<WrittenTime, { kind: 'moment' | 'local' }>;

/** Returns why the request must have a `timeZone`, or undefined if it needs no time zone. */
function zoneNeed(times: readonly WrittenTime[], { timeZone }: SearchSettings): string | undefined {
  if (timeZone === 'required') return 'times in milliseconds also need one';
  return times.some(({ kind }) => kind === 'local') ? 'local times need one' : undefined;
}

function zoneOf(name: unknown, need: string | undefined): TimeZone | DefinitionProblem | undefined {
  if (name === undefined || (typeof name === 'string' && name.trim() === '')) {
    if (need === undefined) return undefined;
    const what = name === undefined ? 'missing' : 'empty';
    return problem('empty.timezone', `timeZone is ${what}; set a time zone, such as UTC or Europe/Berlin: ${need}.`);
  }
  const zone = typeof name === 'string' ? timeZoneOf(name) : undefined;
  const advice = 'use an IANA name such as Europe/Berlin, an offset such as +05:30, or a code such as PST';
  return zone ?? problem('unknown.timezone', `There is no time zone ${shownJson(name)}; ${advice}.`);
}

function timeProblem(member: 'from' | 'to', body: RequestBody, time: WrittenTime): DefinitionProblem | undefined {
  const advice = 'use a local time such as 2026-11-01T00:00:00, or milliseconds since the epoch';
  const code = `invalid.timestamp.${member}`;
  switch (time.kind) {
    case 'missing':
      return problem(code, `${member} is missing; ${advice}.`);
    case 'wrongType':
      return problem('unknown.time.type', `${member} is ${shownJson(body[member])}; ${advice}.`);
    case 'invalid': {
      const why = time.reason === undefined ? '' : `, which ${time.reason}`;
      return problem(code, `${member} is ${shownJson(body[member])}${why}; ${advice}.`);
    }
    case 'moment':
    case 'local':
      return undefined;
  }
}

function readQuery(
  text: string,
  jsonFields: boolean,
  { brokenQuery }: SearchSettings,
): SearchDefinition['query'] | DefinitionProblem {
  try {
    return parseQuery(text, { jsonFields });
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    switch (brokenQuery) {
      case 'parseError':
        return problem('parse.error', error.message);
      case 'creationError':
        return problem('query.creation.error', error.message);
      case 'pendingError':
        return { broken: error.message };
    }
  }
}

function problem(code: string, message: string): DefinitionProblem {
  return { code, message };
}

/** Creates the error for an invalid member. `wanted` describes the valid values. */
function misfit(member: string, value: unknown, wanted: string): DefinitionProblem {
  return problem('generic', `${member} is ${shownJson(value)}; use ${wanted}.`);
}
