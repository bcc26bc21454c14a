/**
 * Reads the body of an error response (chapter 7 of docs/service.md). The body is JSON with `code` or `errors`, an HTML
 * page from a proxy, or empty.
 */
import { isRecord, recordOfJson } from '../../base/record.ts';
import { oneLine } from '../../base/short-text.ts';
import { normalizeServiceCode } from './service-code.ts';

export interface ErrorBody {
  /** Error code, spelled as in chapter 7 of docs/service.md if that chapter lists it. */
  readonly serviceCode: string | undefined;
  /** Human-readable message, on one line. */
  readonly message: string | undefined;
  /** True if the body is not JSON, such as the HTML page of a proxy. False if there is no body. */
  readonly isForeign: boolean;
}

const maxMessageLength = 300;
/** Maximum size of an error response in bytes. Larger bodies are ignored. */
const maxErrorBodyBytes = 64 * 1024;
const nothing = { serviceCode: undefined, message: undefined } as const;

function textIn(document: unknown, name: string): string | undefined {
  const value = isRecord(document) ? document[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function decodeErrorBody(body: Uint8Array): ErrorBody {
  if (body.length > maxErrorBodyBytes) return { ...nothing, isForeign: true };
  const outer = recordOfJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  if (!outer) return { ...nothing, isForeign: body.length > 0 };
  const first: unknown = Array.isArray(outer.errors) ? outer.errors[0] : undefined;
  const code = textIn(outer, 'code') ?? textIn(first, 'code');
  const message = textIn(outer, 'message') ?? textIn(first, 'message') ?? '';
  return {
    serviceCode: code === undefined ? undefined : normalizeServiceCode(code),
    message: oneLine(message).slice(0, maxMessageLength) || undefined,
    isForeign: false,
  };
}
