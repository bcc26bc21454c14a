/** `offset` and `limit` of a page (4.3, 4.4), checked in the order of 7.4. */
import { type Refused, refuse } from '../call.ts';
import { refuseSearch } from './search-refusal.ts';

export interface PageParameters {
  readonly offset: number;
  /** As asked for; larger ones than the service gives are cut by whoever fills the page. */
  readonly limit: number;
}

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
