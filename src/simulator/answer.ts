/** What goes back to the client: status, headers, body, and how it is delivered. Errors in each shape that was ever seen. */
import type { Body } from './body.ts';
import type { Why } from './journal.ts';
import type { Settings } from './settings.ts';

/**
 * How an answer travels.
 * - `whole`: as it should.
 * - `reset`: the connection is reset instead.
 * - `stall`: nothing comes, until the client gives up.
 * - `truncate`: half of the body, then a reset.
 * - `drip`: the body in small pieces.
 */
export type Delivery =
  | { readonly kind: 'whole' | 'reset' | 'stall' | 'truncate' }
  | { readonly kind: 'drip'; readonly bytesPerSecond: number };

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`, which may come several times. */
  readonly cookies?: readonly string[];
  readonly body: Body;
  /** The error identifier of chapter 7 in it, where it is an error. */
  readonly code: string | undefined;
  readonly why?: Why | undefined;
}

/** One of the errors of chapter 7, or of a proxy before the service. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the code is one of those of search jobs, which have a prefix of their own. */
  readonly ofSearch?: boolean;
  /** For the journal alone. */
  readonly why?: Why;
}

/** 429 (7.1): for the rate, for requests at once, and for active search jobs alike. `retryAfter` in seconds. */
export function tooManyRequests(retryAfter: number | undefined, why: Why): Refusal {
  return {
    status: 429,
    code: 'rate.limit.exceeded',
    message: 'More requests than the limit allows.',
    why,
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }),
  };
}

const json = { 'content-type': 'application/json' } as const;
const html = { 'content-type': 'text/html; charset=utf-8' } as const;

export function jsonAnswer(status: number, body: Body): Answer {
  return { status, headers: json, body, code: undefined };
}

export function htmlAnswer(status: number, title: string): Answer {
  const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
  return { status, headers: html, body, code: undefined };
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: {}, body: '', code: undefined };
}

/** `errorId` is what a person would tell the service's support. */
export function errorAnswer(refusal: Refusal, errorId: string, errors: Settings['errors']): Answer {
  const { status, message } = refusal;
  const code = (refusal.ofSearch ? errors.searchCodePrefix : errors.codePrefix) + refusal.code;
  const answer = shaped(status, code, message, errorId, errors);
  return { ...answer, headers: { ...answer.headers, ...refusal.headers }, code, why: refusal.why };
}

function shaped(status: number, code: string, message: string, id: string, { shape }: Settings['errors']): Answer {
  switch (shape) {
    case 'object':
      return jsonAnswer(status, JSON.stringify({ status, id, code, message }));
    case 'list':
      return jsonAnswer(status, JSON.stringify({ id, errors: [{ code, message }] }));
    case 'html':
      return htmlAnswer(status, `${status} ${message}`);
    case 'empty':
      return emptyAnswer(status);
  }
}
