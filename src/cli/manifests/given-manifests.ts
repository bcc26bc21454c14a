/**
 * Manifests on the command line, for commands that have no directory and no cluster. Checks them like `validate`, decodes their resources
 * like a host, and finds their Secrets.
 */
import { checkCredentialsSecret } from '../../account/secret-check.ts';
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { checkManifests, type PlacedFinding, type SourceFile } from '../../api/manifest-set.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import { type DecodedFile, type DecodedSecret, decodeManifest } from '../../host/directory/manifest-decoding.ts';
import { createUid } from '../../host/directory/uid.ts';
import type { ResourceKey, SecretReader } from '../../host/host.ts';
import type { CommandContext } from '../context.ts';
import { renderFinding } from '../render/finding.ts';
import { secretFromVariables } from './credential-variables.ts';

/**
 * Checks manifests and prints the findings to stderr. `render` renders a finding, or returns undefined for a finding that does not apply to
 * the command.
 */
export function areValid(
  sources: readonly SourceFile[],
  { stderr }: Pick<CommandContext, 'stderr'>,
  render: (finding: PlacedFinding) => string | undefined = renderFinding,
): boolean {
  const { findings } = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  stderr.write(findings.map((finding) => render(finding) ?? '').join(''));
  return !findings.some(({ severity }) => severity === 'error');
}

/** Decodes manifests. `namespace` is for manifests without a namespace. */
export function decodeSources(sources: readonly SourceFile[], namespace: string): readonly DecodedFile[] {
  return sources.map(({ name, text }) => decodeManifest(name, text, () => undefined, namespace));
}

/**
 * Resources of one kind in the manifests. A resource that replaces one of `placed` keeps its identity, status and annotations. Any other
 * resource gets a new identity.
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
    // The schema of the kind has checked the spec and set its defaults.
    return { apiVersion: 'logfleet.dev/v1alpha1', kind, spec, metadata } as ResourceOf<K>;
  });
}

/** Place of Secrets that are not among the manifests. */
interface SecretPlace {
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if environment variables replace Secrets that are missing here, too. */
  readonly takesVariables: boolean;
}

/** Reader of Secrets. Secrets among the manifests take precedence over those of the place. */
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
