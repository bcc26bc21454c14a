/**
 * Checks a Secret with credentials for an object store, which `destination.s3.credentialsSecretRef` of an export names. Only the
 * store can tell whether the credentials are valid.
 */
import { nearest } from './did-you-mean.ts';
import { error, type Finding, warning } from './finding.ts';
import { readSecretMembers } from './secret-manifest.ts';

/** Members that must be present. */
export const requiredStoreMembers = ['accessKeyId', 'secretAccessKey'] as const;
/** Member of temporary credentials. */
export const sessionTokenMember = 'sessionToken';

const knownMembers: readonly string[] = [...requiredStoreMembers, sessionTokenMember];

export function checkStoreSecret(secret: Readonly<Record<string, unknown>>): readonly Finding[] {
  const { members, findings: unreadable } = readSecretMembers(secret);
  const findings = [...unreadable];
  const section = 'stringData' in secret ? 'stringData' : 'data';
  for (const name of requiredStoreMembers) {
    if (members.has(name)) continue;
    findings.push(
      error([section, name], 'Required', 'is missing', 'write it under stringData, with the value from the store'),
    );
  }
  for (const [name, { path, text }] of members) {
    if (!knownMembers.includes(name)) {
      const meant = nearest(name, knownMembers);
      const fix = meant === undefined ? `the known keys are ${knownMembers.join(', ')}` : `did you mean ${meant}?`;
      findings.push(warning(path, 'Unknown', 'logfleet has no such key', fix, 'key'));
    } else if (text?.trim() === '' && name !== sessionTokenMember) {
      findings.push(error(path, 'Required', 'is empty', 'write its value'));
    }
  }
  return findings;
}
