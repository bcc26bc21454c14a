/**
 * The Secret with the credentials for an object store, as `destination.s3.credentialsSecretRef` of an export names it: which members it
 * has, and what is wrong with a manifest of one. Whether the store takes them, only the store can say.
 */
import { nearest } from './did-you-mean.ts';
import { type Finding, warning } from './finding.ts';
import { readSecretMembers } from './secret-manifest.ts';

/** Of these every one has to be there. */
export const requiredStoreMembers = ['accessKeyId', 'secretAccessKey'] as const;
/** With credentials that were lent for a while. */
export const sessionTokenMember = 'sessionToken';

const knownMembers: readonly string[] = [...requiredStoreMembers, sessionTokenMember];

export function checkStoreSecret(secret: Readonly<Record<string, unknown>>): readonly Finding[] {
  const { members, findings: unreadable } = readSecretMembers(secret);
  const findings = [...unreadable];
  const section = 'stringData' in secret ? 'stringData' : 'data';
  for (const name of requiredStoreMembers) {
    if (members.has(name)) continue;
    const message = 'is missing; write it under stringData, as the store gave it to you';
    findings.push({ severity: 'error', path: [section, name], part: 'value', message });
  }
  for (const [name, { path, text }] of members) {
    if (!knownMembers.includes(name)) {
      const meant = nearest(name, knownMembers);
      const fix = meant === undefined ? `it reads ${knownMembers.join(', ')}` : `did you mean ${meant}?`;
      findings.push({ ...warning(path, `logfleet reads no such key; ${fix}`), part: 'key' });
    } else if (text?.trim() === '' && name !== sessionTokenMember) {
      findings.push({ severity: 'error', path, part: 'value', message: 'is empty; write its value' });
    }
  }
  return findings;
}
