/**
 * The manifests that a command line names, for commands that do something with them and have no directory or cluster of their own:
 * checked as `validate` checks them, their resources as a host would have them, and the Secrets that count for them.
 */
import { checkCredentialsSecret } from '../account/secret-check.ts';
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { checkManifests, type PlacedFinding, type SourceFile } from '../api/manifest-set.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { SecretText } from '../base/secret-text.ts';
import { type DecodedFile, type DecodedSecret, decodeManifest } from '../host/directory/manifest-decoding.ts';
import { createUid } from '../host/directory/uid.ts';
import type { ResourceKey, SecretReader } from '../host/host.ts';
import type { CommandContext } from './context.ts';
import { secretFromVariables } from './credential-variables.ts';
import { renderFinding } from './render/finding.ts';

/** Says on stderr what is wrong, as `validate` says it unless told; `render` gives undefined for what means nothing to the command. */
export function areValid(
  sources: readonly SourceFile[],
  { stderr }: Pick<CommandContext, 'stderr'>,
  render: (finding: PlacedFinding) => string | undefined = renderFinding,
): boolean {
  const { findings } = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  stderr.write(findings.map((finding) => render(finding) ?? '').join(''));
  return !findings.some(({ severity }) => severity === 'error');
}

/** `namespace` is that of manifests which name none. */
export function decodeSources(sources: readonly SourceFile[], namespace: string): readonly DecodedFile[] {
  return sources.map(({ name, text }) => decodeManifest(name, text, () => undefined, namespace));
}

/**
 * The resources of one kind as they would stand there: each with the identity, the status, and what people asked of the one that it
 * replaces, of those that are `placed`; with an identity of its own where it replaces none.
 */
export function resourcesIn<K extends KindName>(
  kind: K,
  decoded: readonly DecodedFile[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  placed: ReadonlyMap<string, ResourceOf<K>> = new Map(),
): readonly ResourceOf<K>[] {
  const creationTimestamp = new Date(clock.now()).toISOString();
  const ofKind = decoded.flatMap(({ resources }) => resources).filter((resource) => resource.kind === kind);
  return ofKind.map(({ key, spec, annotations }) => {
    const replaced = placed.get(nameOf(key));
    if (replaced) {
      const { metadata } = replaced;
      return { ...replaced, spec, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
    }
    const identity = { uid: createUid(random), generation: 1, resourceVersion: '1', creationTimestamp };
    const metadata = { ...key, ...identity, annotations };
    // The schema of the kind has been held against it, and its defaults are filled in.
    return { apiVersion: 'logfleet.dev/v1alpha1', kind, spec, metadata } as ResourceOf<K>;
  });
}

/** Where Secrets are looked for that are not among the manifests. */
export interface SecretPlace {
  readonly secrets: Pick<SecretReader, 'get'>;
  /** Whether the variables of the environment stand in for Secrets that are not there either. */
  readonly takesVariables: boolean;
}

/** Those among the manifests go before those that stand there already. */
export async function secretsOf(
  decoded: readonly DecodedFile[],
  place: SecretPlace,
  context: CommandContext,
): Promise<SecretReader> {
  const given = new Map<string, DecodedSecret>();
  for (const { secrets } of decoded) for (const secret of secrets) given.set(nameOf(secret.key), secret);
  const variables = place.takesVariables ? await secretFromVariables(context) : undefined;
  const placed = new Set<string>();
  return {
    get: async (key): Promise<ReadonlyMap<string, SecretText> | undefined> => {
      const members = given.get(nameOf(key))?.members;
      if (members) return members;
      const standing = await place.secrets.get(key);
      if (standing) placed.add(nameOf(key));
      return standing ?? variables;
    },
    takesVariables: (key) => place.takesVariables && !given.has(nameOf(key)) && !placed.has(nameOf(key)),
  };
}

export function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}
