/**
 * Checks the manifest of a Secret that a resource uses for its credentials: required members and their form. Only the service can
 * tell whether the credentials are valid.
 */
import { nearest } from '../api/did-you-mean.ts';
import { error, explained, type Finding, warning } from '../api/finding.ts';
import type { JsonPath } from '../api/json-path.ts';
import { readSecretMembers } from '../api/secret-manifest.ts';
import { defaultBudgetSettings } from '../service/budget/request-budget.ts';
import { type Member, memberRules, type Rule, requiredMembers } from './credential-rules.ts';

const knownMembers = Object.keys(memberRules);
const examples = {
  baseURL: 'https://api.example.com/api',
  accessId: 'your access ID',
  accessKey: 'your access key',
} as const satisfies { readonly [M in (typeof requiredMembers)[number]]: string };

export function checkCredentialsSecret(secret: object): readonly Finding[] {
  const { members, findings: unreadable } = readSecretMembers(secret as Readonly<Record<string, unknown>>);
  const findings = [...unreadable];
  const section = 'stringData' in secret ? 'stringData' : 'data';
  for (const name of requiredMembers) {
    if (members.has(name)) continue;
    findings.push(
      error([section, name], 'Required', 'is missing', `write it under stringData, as in ${name}: ${examples[name]}`),
    );
  }
  for (const [name, { path, text }] of members) {
    if (!isKnown(name)) findings.push(unknownMember(name, path));
    else if (text !== undefined) findings.push(...checkMember(name, text.trim(), path));
  }
  return findings;
}

function isKnown(name: string): name is Member {
  return Object.hasOwn(memberRules, name);
}

function unknownMember(name: string, path: JsonPath): Finding {
  const meant = nearest(name, knownMembers);
  return warning(
    path,
    'Unknown',
    'logfleet has no such key',
    `${meant ? `did you mean ${meant}?` : `the known keys are ${knownMembers.join(', ')}`}`,
    'key',
  );
}

function* checkMember(name: Member, text: string, path: JsonPath): Generator<Finding> {
  if (text === '') {
    // An optional member may be empty.
    if (requiredMembers.some((required) => required === name))
      yield error(path, 'Required', 'is empty', 'write its value');
    return;
  }
  const rule: Rule<unknown> = memberRules[name];
  const parsed = rule(text);
  if (parsed.kind === 'problem') yield error(path, 'Invalid', ...explained(parsed.problem));
  else if (name === 'requestsPerSecond' || name === 'maxConcurrentRequests') yield* checkShare(name, text, path);
}

/** Warns about a share above the service's limit (8), which has no effect. */
function* checkShare(name: 'requestsPerSecond' | 'maxConcurrentRequests', text: string, path: JsonPath) {
  const limit = defaultBudgetSettings[name];
  if (Number(text) <= limit) return;
  yield warning(
    path,
    'OutOfRange',
    'is more than the service allows, so the limit of the service applies',
    `write up to ${limit}, or leave it out`,
  );
}
