/** Basic credentials (5.1): who a request comes from. */
import { Buffer } from 'node:buffer';
import type { AccessKey } from './settings.ts';

/** The key that the header names and proves, or undefined: then the answer is 401. */
export function authenticate(
  authorization: string | undefined,
  keys: ReadonlyMap<string, AccessKey>,
): AccessKey | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const key = colon < 0 ? undefined : keys.get(pair.slice(0, colon));
  return key?.accessKey === pair.slice(colon + 1) ? key : undefined;
}
