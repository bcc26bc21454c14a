/**
 * Checks a Secret with credentials for an object store, which `destination.s3.credentialsSecretRef` of an export names. Only the
 * store can tell whether the credentials are valid.
 */
import type { Finding } from './finding.ts';
import { checkSecret } from './secret-manifest.ts';

/** Keys that a Secret for an object store must contain. */
export const requiredStoreMembers = ['accessKeyId', 'secretAccessKey'] as const;
/** Key for the session token of temporary credentials. */
export const sessionTokenMember = 'sessionToken';

const remedy = 'write it under stringData, with the value from the store';

export function checkStoreSecret(secret: Readonly<Record<string, unknown>>): readonly Finding[] {
  const required = Object.fromEntries(requiredStoreMembers.map((name) => [name, remedy]));
  return checkSecret(secret, { required, known: [...requiredStoreMembers, sessionTokenMember] });
}
