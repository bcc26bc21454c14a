/** What the body of 4.1 asks for, or the first thing that is wrong with it, in the order that docs/simulator.md names. */
import { parseLosslessJson } from '../lossless-json.ts';
import { parseQuery, type Query } from '../query/query.ts';
import { QueryError } from '../query/query-error.ts';
import type { SearchSettings } from './search-settings.ts';
import { readTime, resolveTime, type WrittenTime } from './search-time.ts';
import { type TimeZone, timeZoneOf } from './time-zone.ts';

export interface SearchOrder {
  readonly text: string;
  /** What is wrong with the query, where that only shows when it runs. */
  readonly query: Query | { readonly broken: string };
  /** ms since the epoch, as they were asked for. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
  readonly requiresRawMessages: boolean;
}

/** A code of 7.2 or one beyond, without its prefix. */
export interface OrderProblem {
  readonly code: string;
  readonly message: string;
}

export type RequestBody = Readonly<Record<string, unknown>>;

/** The old values of `autoParsingMode` still work (9.2). */
const parsingModes: readonly unknown[] = ['AutoParse', 'Manual', 'performance', 'intelligent', 'verbose'];

/** The members of the body, without those that are null; undefined where it is no JSON object. */
export function readBody(text: string): RequestBody | undefined {
  let value: unknown;
  try {
    value = parseLosslessJson(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

export function readOrder(body: RequestBody | undefined, settings: SearchSettings): SearchOrder | OrderProblem {
  if (!body) return problem('generic', 'The body is no JSON object in UTF-8.');
  const { query: text = '', byReceiptTime = false, requiresRawMessages = false, autoParsingMode = 'Manual' } = body;
  if (typeof text !== 'string') return problem('generic', 'query is no text.');
  if (text.trim() === '') return problem('no.query', 'No query was given.');
  const from = readTime(body['from']);
  const to = readTime(body['to']);
  const needsZone = settings.timeZone === 'required' || from.kind === 'local' || to.kind === 'local';
  const zone = zoneOf(body['timeZone'] ?? body['timezone'], needsZone);
  if (zone && 'code' in zone) return zone;
  const wrong = timeProblem('from', from) ?? timeProblem('to', to);
  if (wrong) return wrong;
  const fromMs = resolveTime(from as Readable, zone);
  const toMs = resolveTime(to as Readable, zone);
  if (fromMs > toMs) return problem('to.smaller.than.from', 'from is later than to.');
  if (typeof byReceiptTime !== 'boolean') return problem('generic', 'byReceiptTime is neither true nor false.');
  if (typeof requiresRawMessages !== 'boolean') {
    return problem('generic', 'requiresRawMessages is neither true nor false.');
  }
  if (!parsingModes.includes(autoParsingMode)) return problem('generic', 'autoParsingMode is not known.');
  const query = readQuery(text, autoParsingMode === 'AutoParse', settings);
  if ('code' in query) return query;
  return { text, query, fromMs, toMs, byReceiptTime, requiresRawMessages };
}

type Readable = Extract<WrittenTime, { kind: 'moment' | 'local' }>;

function zoneOf(name: unknown, isNeeded: boolean): TimeZone | OrderProblem | undefined {
  if (name === undefined || (typeof name === 'string' && name.trim() === '')) {
    return isNeeded ? problem('empty.timezone', 'The time zone is blank.') : undefined;
  }
  const zone = typeof name === 'string' ? timeZoneOf(name.trim()) : undefined;
  return zone ?? problem('unknown.timezone', `There is no time zone ${String(name)}.`);
}

function timeProblem(member: 'from' | 'to', { kind }: WrittenTime): OrderProblem | undefined {
  switch (kind) {
    case 'wrongType':
      return problem('unknown.time.type', `${member} is neither a text nor a number.`);
    case 'invalid':
      return problem(
        `invalid.timestamp.${member}`,
        `${member} is neither a date-time as 2026-11-01T00:00:00 nor milliseconds since the epoch.`,
      );
    case 'moment':
    case 'local':
      return undefined;
  }
}

function readQuery(
  text: string,
  jsonFields: boolean,
  { brokenQuery }: SearchSettings,
): SearchOrder['query'] | OrderProblem {
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

function problem(code: string, message: string): OrderProblem {
  return { code, message };
}
