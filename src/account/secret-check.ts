/** Checks the manifest of a credentials Secret: the required keys, and the format of their values. */
import { error, type Finding, warning } from '../api/finding.ts';
import type { JsonPath } from '../api/json-path.ts';
import { checkSecret } from '../api/secret-manifest.ts';
import type { JsonObject } from '../base/record.ts';
import { serviceLimits } from '../service/budget/request-budget.ts';
import { type CredentialMember, memberRules, type Rule, requiredMembers } from './credential-rules.ts';

const examples: { readonly [M in (typeof requiredMembers)[number]]: string } = {
  baseURL: 'https://api.example.com/api',
  accessId: 'your access ID',
  accessKey: 'your access key',
};
const required = Object.fromEntries(
  requiredMembers.map((name) => [name, `add the missing key under stringData, for example ${name}: ${examples[name]}`]),
);

export function checkCredentialsSecret(secret: object): readonly Finding[] {
  const rules = { required, known: Object.keys(memberRules), check: checkMember };
  return checkSecret(secret as JsonObject, rules);
}

function* checkMember(name: string, text: string, path: JsonPath): Generator<Finding> {
  const rule: Rule<unknown> = memberRules[name as CredentialMember];
  const parsed = rule(text);
  if (parsed.kind === 'problem') yield error(path, 'Invalid', parsed);
  else if (name === 'requestsPerSecond' || name === 'maxConcurrentRequests') yield* checkShare(name, text, path);
}

/** Warns about a request limit in the Secret that has no effect, because the service's own limit is lower. */
function* checkShare(name: 'requestsPerSecond' | 'maxConcurrentRequests', text: string, path: JsonPath) {
  const limit = serviceLimits[name];
  if (Number(text) <= limit) return;
  yield warning(path, 'OutOfRange', {
    problem: `${name} exceeds the service's limit, so the service's limit applies instead`,
    remedy: `set ${name} to at most ${limit}, or leave it out`,
  });
}
