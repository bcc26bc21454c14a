/**
 * Finds the Secret and the selector for `logfleet fleet`. With `--policy`, both come from that policy. Otherwise, the
 * selector comes from the command line, and the Secret is the only Secret that the policies use. Environment variables
 * can replace this Secret.
 */

import { variables } from '../../account/credential-place.ts';
import { placeFinding, renderExplanation, renderFinding } from '../../api/finding.ts';
import type { CollectorSelector } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { apiVersion } from '../../api/kinds.ts';
import { parseManifestFile } from '../../api/manifest-file.ts';
import { validateResource } from '../../api/validation.ts';
import { keyText } from '../../base/key-text.ts';
import type { Ports } from '../../base/ports.ts';
import type { DecodedFile } from '../../host/directory/manifest-decoding.ts';
import type { ResourceKey, SecretReader } from '../../host/host.ts';
import { compileSelection, type Matcher } from '../../policy/members/selector.ts';
import type { CommandContext } from '../command/context.ts';
import { UsageError } from '../command/usage-error.ts';
import { areValid, decodeSources, readSources, resourcesIn, secretReader } from '../resources/given-manifests.ts';
import type { FleetPlace } from './fleet-place.ts';

export interface FleetTarget {
  /** Secret with the credentials of the service. */
  readonly secret: ResourceKey;
  readonly secrets: SecretReader;
  /** Selects the collectors to show. Undefined to show all collectors. */
  readonly matches: Matcher | undefined;
}

interface TargetArguments {
  readonly selector: string | undefined;
  /** Name of a policy, or file with a policy. */
  readonly policy: string | undefined;
}

/** Finds the Secret and the selector. A selector on the command line replaces the policy's selector. */
export async function fleetTarget(
  { selector, policy: named }: TargetArguments,
  place: FleetPlace,
  context: CommandContext,
  ports: Pick<Ports, 'clock' | 'random'>,
): Promise<FleetTarget> {
  const written = selector === undefined ? undefined : compileSelection(parseSelector(selector, context));
  const decoded = named !== undefined && isFile(named) ? await decodeFile(named, place, context) : [];
  const secrets = await secretReader(decoded, place, context);
  if (named === undefined) return { secret: await onlySecret(place, secrets), secrets, matches: written };
  const policy = isFile(named) ? onlyPolicy(named, decoded, ports) : await existingPolicy(named, place);
  const { selector: ofPolicy, exclude } = policy.spec;
  return { secret: secretOf(policy), secrets, matches: written ?? compileSelection(ofPolicy, exclude) };
}

/** Reports whether the value of `--policy` is a file name. Policy names have no slash and no suffix such as `.yaml`. */
function isFile(text: string): boolean {
  return text === '-' || /[/\\]|\.(?:ya?ml|json)$/i.test(text);
}

async function decodeFile(
  file: string,
  { namespace }: FleetPlace,
  context: CommandContext,
): Promise<readonly DecodedFile[]> {
  const sources = await readSources([file], context);
  if (!areValid(sources, context)) throw new UsageError(`${file} is invalid: correct the errors above`);
  return decodeSources(sources, namespace);
}

function onlyPolicy(
  file: string,
  decoded: readonly DecodedFile[],
  ports: Pick<Ports, 'clock' | 'random'>,
): CollectorVersionPolicy {
  const policies = resourcesIn('CollectorVersionPolicy', decoded, ports);
  const [policy] = policies;
  if (policy && policies.length === 1) return policy;
  throw new UsageError(
    policies.length === 0
      ? `${file} has no CollectorVersionPolicy`
      : `${file} has ${policies.length} policies (${namesOf(policies)}), but --policy takes one: write the name of the policy after --policy, and its folder after --dir`,
  );
}

async function existingPolicy(name: string, place: FleetPlace): Promise<CollectorVersionPolicy> {
  if (place.label === undefined) {
    throw new UsageError(
      `--policy ${name} is the name of a policy, so the command needs its cluster or directory: add -n NAMESPACE or --dir DIR, or write a file such as ./${name}.yaml`,
    );
  }
  const found = (await place.policies()).filter(({ metadata }) => metadata.name === name);
  const [policy] = found;
  if (policy && found.length === 1) return policy;
  throw new UsageError(
    policy
      ? `${place.label} has several policies with the name ${name} (${namesOf(found)}): select a namespace with -n`
      : `${place.label} has no policy ${name}`,
  );
}

/**
 * Returns the Secret that all policies use. Without policies, returns a fixed name for the credentials in environment
 * variables. Throws a `UsageError` if the policies use several Secrets, or if there are no credentials.
 */
async function onlySecret(place: FleetPlace, secrets: SecretReader): Promise<ResourceKey> {
  const policies = await place.policies();
  const used = new Map(policies.map((policy) => [keyText(secretOf(policy)), secretOf(policy)]));
  const [secret] = used.values();
  if (secret && used.size === 1) return secret;
  if (secret) {
    throw new UsageError(
      `the policies of ${place.label} use ${used.size} Secrets: select one of these policies with --policy NAME: ${namesOf(policies)}`,
    );
  }
  if (place.takesVariables) {
    const fixed = { namespace: place.namespace, name: 'log-service' };
    if (await secrets.get(fixed)) return fixed;
    const { baseURL, accessId, accessKey } = variables;
    throw new UsageError(
      `${place.label === undefined ? '' : `${place.label} has no valid policy, and `}no credentials are set: set ${baseURL}, ${accessId} and ${accessKey}, or select a policy with -n NAMESPACE, --dir DIR or --policy FILE to use its Secret`,
    );
  }
  throw new UsageError(
    `${place.label} has no policy whose Secret could be used: select another namespace with -n, or write --policy FILE`,
  );
}

function secretOf({ metadata: { namespace }, spec }: CollectorVersionPolicy): ResourceKey {
  return { namespace, name: spec.credentialsSecretRef.name };
}

function namesOf(policies: readonly CollectorVersionPolicy[]): string {
  return policies.map(({ metadata }) => keyText(metadata)).join(', ');
}

const file = 'SELECTOR';
const path = ['spec', 'selector'];

/** Parses a selector. Prints warnings, and throws a `UsageError` if the selector is invalid. */
function parseSelector(text: string, { stderr }: Pick<CommandContext, 'stderr'>): CollectorSelector {
  const { documents, problems } = parseManifestFile(text);
  const [document] = documents;
  const [problem] = problems;
  if (text.trim() === '' || documents.length > 1)
    throw new UsageError(`${file} must be one YAML mapping, such as '{matchNames: ["web-*"]}'`);
  if (problem) throw new UsageError(`${file}:${problem.line}:${problem.column}: ${renderExplanation(problem)}`);
  if (!document)
    throw new UsageError(`${file} contains only a comment: write a mapping, such as '{matchNames: ["web-*"]}'`);
  const found = validateResource('CollectorVersionPolicy', policyWith(document.value)).map((finding) =>
    placeFinding(file, document, { ...finding, path: finding.path.slice(path.length) }),
  );
  const errors = found.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new UsageError(errors.map(renderFinding).join('\n'));
  stderr.write(found.map((finding) => `${renderFinding(finding)}\n`).join(''));
  return document.value as CollectorSelector;
}

/**
 * Puts the selector into an otherwise valid policy, so that the checks for policies also find errors in the selector.
 */
function policyWith(selector: unknown): object {
  return {
    apiVersion,
    kind: 'CollectorVersionPolicy',
    metadata: { name: 'selector' },
    spec: { credentialsSecretRef: { name: 'log-service' }, target: { channel: 'Latest' }, selector },
  };
}
