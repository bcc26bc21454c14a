/** An answer of the simulated service: status, headers, body, and its delivery to the client. */
import type { Body } from '../base/body.ts';
import type { Settings } from '../scenario/settings.ts';
import type { Why } from './journal.ts';

/**
 * How the simulator sends an answer:
 * - `whole`: completely.
 * - `reset`: no answer; resets the connection.
 * - `stall`: no answer; keeps the request open until the client gives up.
 * - `truncate`: half of the body, then resets the connection.
 * - `drip`: completely, but slowly and in small pieces.
 */
export type Delivery =
  | { readonly kind: 'whole' | 'reset' | 'stall' | 'truncate' }
  | { readonly kind: 'drip'; readonly bytesPerSecond: number };

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly body: Body;
  readonly code: string | undefined;
  readonly why?: Why | undefined;
}

/** An error answer of the service or of a proxy in front of the service. */
export interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the error is about a search job. These errors have codes with their own prefix. */
  readonly ofSearch?: boolean;
  /** Detailed reason for the answer. The reason is written to the journal, but not sent to the client. */
  readonly why?: Why;
}

/** Returns an answer with status 429 (too many requests). `retryAfter` is in seconds. */
export function tooManyRequests(retryAfter: number | undefined, why: Why): ErrorAnswer {
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

export function jsonAnswer(status: number, body: Body): ServiceAnswer {
  return { status, headers: json, body, code: undefined };
}

export function htmlAnswer(status: number, title: string): ServiceAnswer {
  const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
  return { status, headers: html, body, code: undefined };
}

export function emptyAnswer(status: number): ServiceAnswer {
  return { status, headers: {}, body: '', code: undefined };
}

/** Renders an error answer. `errorId` identifies the error for support. */
export function errorAnswer(refusal: ErrorAnswer, errorId: string, errors: Settings['errors']): ServiceAnswer {
  const { status, message } = refusal;
  const code = (refusal.ofSearch ? errors.searchCodePrefix : errors.codePrefix) + refusal.code;
  const answer = shaped(status, code, message, errorId, errors);
  return { ...answer, headers: { ...answer.headers, ...refusal.headers }, code, why: refusal.why };
}

function shaped(
  status: number,
  code: string,
  message: string,
  id: string,
  { shape }: Settings['errors'],
): ServiceAnswer {
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
