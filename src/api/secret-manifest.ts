/**
 * Reads the members of a Secret manifest like an API server: base64 in `data`, plain text in `stringData`, which takes precedence.
 *
 * Invariant: no finding contains a secret value. Callers decide which members are required.
 */

import { isRecord } from '../base/record.ts';
import { error, type Finding, type FindingReason } from './finding.ts';
import type { JsonPath } from './json-path.ts';

export interface SecretMember {
  readonly path: JsonPath;
  /** Undefined if the value is invalid. */
  readonly text: string | undefined;
}

export interface SecretMembers {
  /** Members by name. */
  readonly members: ReadonlyMap<string, SecretMember>;
  /** Invalid members. All findings are errors. */
  readonly findings: readonly Finding[];
}

export function readSecretMembers(secret: Readonly<Record<string, unknown>>): SecretMembers {
  const members = new Map<string, SecretMember>();
  const findings: Finding[] = [];
  const refuse = (path: JsonPath, reason: FindingReason, problem: string, remedy: string) => {
    findings.push(error(path, reason, problem, remedy));
    return undefined;
  };
  for (const section of ['data', 'stringData'] as const) {
    const values = secret[section];
    if (values === undefined || values === null) continue;
    if (!isRecord(values)) {
      refuse([section], 'WrongType', 'must be a mapping', 'write names and texts');
      continue;
    }
    for (const [name, value] of Object.entries(values)) {
      const path = [section, name];
      members.set(name, { path, text: textOf(section, value, (...explanation) => refuse(path, ...explanation)) });
    }
  }
  return { members, findings };
}

function textOf(
  section: 'data' | 'stringData',
  value: unknown,
  refuse: (reason: FindingReason, problem: string, remedy: string) => undefined,
): string | undefined {
  if (typeof value !== 'string') return refuse('WrongType', 'must be a text', 'write it in quotes');
  if (section === 'stringData') return value;
  return decodeBase64(value) ?? refuse('Invalid', 'is not base64', 'write the plain text under stringData instead');
}

function decodeBase64(text: string): string | undefined {
  const bare = text.replaceAll(/\s/g, '');
  if (bare.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(bare)) return undefined;
  return Buffer.from(bare, 'base64').toString('utf8');
}
