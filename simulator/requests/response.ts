/** A response from the simulated service: its status, headers and body, and how it is sent to the client. */
import type { Body } from '../base/body.ts';
import type { Settings } from '../scenario/settings.ts';
import type { Why } from './journal.ts';

/**
 * How the simulator sends a response:
 * - `whole`: completely
 * - `reset`: no response; the connection is reset
 * - `stall`: no response; the request stays open until the client gives up
 * - `truncate`: half of the body, and then a connection reset
 * - `drip`: completely, but slowly and in small pieces
 */
export type Delivery =
  | { readonly kind: 'whole' | 'reset' | 'stall' | 'truncate' }
  | { readonly kind: 'drip'; readonly bytesPerSecond: number };

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly body: Body;
  readonly code: string | undefined;
  readonly why?: Why | undefined;
}

/** An error response from the service, or from a proxy in front of the service. */
export interface ErrorResponse {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * True if the error is about a search job. The codes of these errors begin with a different prefix than other codes.
   */
  readonly ofSearch?: boolean;
  /** Detailed reason for the error response. It is written to the journal, but not sent to the client. */
  readonly why?: Why;
}

/** Returns a response with status 429 (too many requests). `retryAfter` is in seconds. */
export function tooManyRequests(retryAfter: number | undefined, why: Why): ErrorResponse {
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

export function jsonResponse(status: number, body: Body): ServiceResponse {
  return { status, headers: json, body, code: undefined };
}

export function htmlResponse(status: number, title: string): ServiceResponse {
  const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
  return { status, headers: html, body, code: undefined };
}

export function emptyResponse(status: number): ServiceResponse {
  return { status, headers: {}, body: '', code: undefined };
}

/** Renders an error response. `errorId` identifies the error to the support team. */
export function errorResponse(refusal: ErrorResponse, errorId: string, errors: Settings['errors']): ServiceResponse {
  const { status, message } = refusal;
  const code = (refusal.ofSearch ? errors.searchCodePrefix : errors.codePrefix) + refusal.code;
  const response = shaped(status, code, message, errorId, errors);
  return { ...response, headers: { ...response.headers, ...refusal.headers }, code, why: refusal.why };
}

function shaped(
  status: number,
  code: string,
  message: string,
  id: string,
  { shape }: Settings['errors'],
): ServiceResponse {
  switch (shape) {
    case 'object':
      return jsonResponse(status, JSON.stringify({ status, id, code, message }));
    case 'list':
      return jsonResponse(status, JSON.stringify({ id, errors: [{ code, message }] }));
    case 'html':
      return htmlResponse(status, `${status} ${message}`);
    case 'empty':
      return emptyResponse(status);
  }
}
