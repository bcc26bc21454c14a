/** Authenticates requests by HTTP basic credentials (section 5.1 of docs/service.md). */
import { Buffer } from 'node:buffer';
import type { AccessKey } from './scenario/settings.ts';

/** Returns why an access ID is invalid, or undefined if the access ID is valid. */
export function accessIdProblem(accessId: string): string | undefined {
  const isUsable = accessId !== '' && !accessId.includes(':');
  return isUsable
    ? undefined
    : 'is empty or contains a colon, which basic authentication does not allow; use another access ID';
}

/** Returns the access key of the request, or undefined if the credentials are wrong. */
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
