/**
 * Reads the body of an error answer. The specification does not define its format (7). Four formats are known: an
 * object with `code`, an object with an array `errors`, the HTML page of a proxy, and an empty body.
 */
import { isRecord } from '../../base/record.ts';
import { parseJson } from '../json/exact-json.ts';
import { normalizeServiceCode } from './service-code.ts';

export interface ErrorBody {
  /**
   * Error code in the answer. If chapter 7 of docs/service.md lists the code, it is spelled as there, otherwise as the
   * service wrote it.
   */
  readonly serviceCode: string | undefined;
  /** Message for people: one line, at most `maxMessageLength` characters. */
  readonly message: string | undefined;
}

const maxMessageLength = 300;
/** Maximum size in bytes of an error answer's body. Longer bodies are ignored. */
const maxErrorBodyBytes = 64 * 1024;
const nothing: ErrorBody = { serviceCode: undefined, message: undefined };

function textIn(document: unknown, name: string): string | undefined {
  const value = isRecord(document) ? document[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Turns a message into one line: replaces line breaks and control characters, and shortens the text to its maximum length.
 */
function oneLine(text: string | undefined): string | undefined {
  const line = text?.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line ? line.slice(0, maxMessageLength) : undefined;
}

function parse(body: Uint8Array): unknown {
  if (body.length === 0 || body.length > maxErrorBodyBytes) return undefined;
  try {
    return parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
}

export function decodeErrorBody(body: Uint8Array): ErrorBody {
  const outer = parse(body);
  if (!isRecord(outer)) return nothing;
  const first: unknown = Array.isArray(outer.errors) ? outer.errors[0] : undefined;
  const code = textIn(outer, 'code') ?? textIn(first, 'code');
  return {
    serviceCode: code === undefined ? undefined : normalizeServiceCode(code),
    message: oneLine(textIn(outer, 'message') ?? textIn(first, 'message')),
  };
}
