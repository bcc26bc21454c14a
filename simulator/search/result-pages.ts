/** Search job result pages: request parameters, and response bodies with messages or records. */
import { Buffer } from 'node:buffer';
import type { PiecedBody } from '../base/body.ts';
import type { RecordTable } from '../query/aggregation.ts';
import { type Refused, refuse, refuseSearch } from '../requests/call.ts';
import type { FoundMessages } from './found-messages.ts';

export interface PageParameters {
  readonly offset: number;
  /** Requested maximum number of rows. The service may return fewer rows. */
  readonly limit: number;
}

/** Reads the page parameters `offset` and `limit` (section 7.4 of docs/service.md). */
export function readPageParameters(query: URLSearchParams): PageParameters | Refused {
  const offset = wholeNumber('offset', query);
  if (typeof offset !== 'number') return offset;
  if (offset < 0) return refuseSearch(400, 'offset.negative', 'offset is negative.');
  const limit = wholeNumber('limit', query);
  if (typeof limit !== 'number') return limit;
  if (limit === 0) return refuseSearch(400, 'limit.zero', 'limit is 0.');
  if (limit < 0) return refuseSearch(400, 'limit.negative', 'limit is negative.');
  return { offset, limit };
}

function wholeNumber(name: 'offset' | 'limit', query: URLSearchParams): number | Refused {
  const text = query.get(name)?.trim() ?? '';
  if (text === '') return refuseSearch(400, `${name}.missing`, `${name} is missing.`);
  const value = Number(text);
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  return refuse(400, 'parameter.invalid', `Parameter ${name} is ${JSON.stringify(text)}; it must be a whole number.`);
}

const messagesEnd = Buffer.from(']}');

/** Returns the body of a page. The body is created while it is being sent. */
export function messageBody({ fields, page }: FoundMessages): PiecedBody {
  const head = Buffer.from(`{"warning":"","fields":${JSON.stringify(fields)},"messages":[`);
  return {
    bytes: head.length + page.bytes + messagesEnd.length,
    *pieces(memory) {
      yield head;
      yield* page.pieces(memory);
      yield messagesEnd;
    },
  };
}

export interface RecordPageRequest {
  readonly offset: number;
  readonly limit: number;
  /**
   * Whether to return wrong numbers while the aggregation is unfinished. The wrong numbers let tests detect clients
   * that use such records.
   */
  readonly isWrong: boolean;
  /** Whether to write large numbers with an exponent, such as `1.788E12`. */
  readonly isScientific: boolean;
}

/** Renders a page of records. `request` can ask for wrong numbers, or for numbers with an exponent. */
export function renderRecords({ fields, records }: RecordTable, request: RecordPageRequest): string {
  const { offset, limit } = request;
  const rows = records.slice(offset, offset + limit).map((values) => {
    const cells = fields.map(({ name, keyField }, index) => {
      const value = values[index] ?? '';
      return [name, keyField ? value : figureOf(value, request)];
    });
    return { map: Object.fromEntries(cells) };
  });
  return JSON.stringify({ warning: '', fields, records: rows });
}

const minScientific = 1e7;

/** Renders a value in a record. If requested, replaces a number with a wrong one, or writes it with an exponent. */
function figureOf(text: string, { isWrong, isScientific }: RecordPageRequest): string {
  const exact = Number(text);
  if (text === '' || !Number.isFinite(exact)) return text;
  const figure = isWrong ? exact * 2 + 1 : exact;
  if (isScientific && Math.abs(figure) >= minScientific) return scientific(figure);
  return isWrong ? String(figure) : text;
}

/** Writes a number with an exponent: `1.0E7`, `1.788E12`. */
function scientific(figure: number): string {
  const [digits = '', exponent] = figure.toExponential().split('e+');
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent}`;
}
