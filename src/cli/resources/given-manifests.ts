/**
 * Reads and checks the manifests given on a command line, decodes their resources, and finds the Secrets that those
 * resources use.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { variables } from '../../account/credential-place.ts';
import { checkCredentialsSecret } from '../../account/secret-check.ts';
import { type PlacedFinding, renderFinding } from '../../api/finding.ts';
import { apiVersion, type CollectorVersionPolicy, type KindName, type ResourceOf } from '../../api/kinds.ts';
import { checkManifests, type SourceFile } from '../../api/manifest-set.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { systemCode } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { createUid, type Random } from '../../base/random.ts';
import { SecretText } from '../../base/secret-text.ts';
import { isoText } from '../../base/time-text.ts';
import {
  type DecodedFile,
  decodeManifest,
  defaultNamespace,
  type PreviousOf,
} from '../../host/directory/manifest-decoding.ts';
import type { SecretReader } from '../../host/host.ts';
import type { CommandContext } from '../command/context.ts';
import { ifReadable } from '../command/readable.ts';
import { UsageError } from '../command/usage-error.ts';

/**
 * Returns true if no manifest has errors. Prints each problem to stderr, unless `render` returns undefined for the
 * problem.
 */
export function areValid(
  sources: readonly SourceFile[],
  { stderr }: Pick<CommandContext, 'stderr'>,
  render: (finding: PlacedFinding) => string | undefined = renderFinding,
): boolean {
  return !printFindings(sources, { stderr }, render).some(({ severity }) => severity === 'error');
}

/** Checks manifests and prints their problems. Returns all problems. */
export function printFindings(
  sources: readonly SourceFile[],
  { stderr }: Pick<CommandContext, 'stderr'>,
  render: (finding: PlacedFinding) => string | undefined = renderFinding,
): readonly PlacedFinding[] {
  const { findings } = checkManifests(sources, checkCredentialsSecret, systemClock.now());
  const lines = findings.map((finding) => render(finding)).filter((line) => line !== undefined);
  stderr.write(lines.map((line) => `${line}\n`).join(''));
  return findings;
}

/**
 * Decodes manifests. A manifest without a namespace belongs to `namespace`. `previousOf` returns the existing resource
 * for a manifest. A manifest that changes an immutable field of the existing resource is refused.
 */
export function decodeSources(
  sources: readonly SourceFile[],
  namespace: string,
  previousOf: PreviousOf = () => undefined,
): readonly DecodedFile[] {
  return sources.map(({ name, text }) => decodeManifest(name, text, previousOf, namespace));
}

/**
 * Returns the resources of one kind in the manifests. A resource that already exists in `placed` keeps its uid, status
 * and annotations. As on an API server, a changed spec increases the generation.
 */
export function resourcesIn<K extends KindName>(
  kind: K,
  decoded: readonly DecodedFile[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  placed: ReadonlyMap<string, ResourceOf<K>> = new Map(),
): readonly ResourceOf<K>[] {
  const creationTimestamp = isoText(clock.now());
  const ofKind = decoded.flatMap(({ resources }) => resources).filter((resource) => resource.kind === kind);
  return ofKind.map(({ key, spec, annotations }) => {
    const replaced = placed.get(keyText(key));
    if (replaced) {
      const generation = replaced.metadata.generation + (sameValue(replaced.spec, spec) ? 0 : 1);
      const metadata = { ...replaced.metadata, generation };
      return { ...replaced, spec, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
    }
    const identity = { uid: createUid(random), generation: 1, resourceVersion: '1', creationTimestamp };
    const metadata = { ...key, ...identity, annotations };
    // `spec` has already been validated against the schema.
    return { apiVersion, kind, spec, metadata } as ResourceOf<K>;
  });
}

/** Cluster or directory from which a command reads policies and Secrets in addition to the given manifests. */
export interface ResourcePlace {
  /** Namespace for manifests that do not specify one. */
  readonly namespace: string;
  /** Lists the policies that the command needs. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if credentials may come from environment variables when the Secret does not exist. */
  readonly takesVariables: boolean;
  close(): Promise<void>;
}

/** A source without resources, for commands that read neither a cluster nor a directory. */
export const noPlace: ResourcePlace = {
  namespace: defaultNamespace,
  policies: async () => [],
  secrets: { get: async () => undefined },
  takesVariables: true,
  close: async () => {},
};

/**
 * Returns a reader that looks for each Secret first in the given manifests, and then in `place`, a cluster or
 * directory. If neither contains the Secret, the reader uses the environment variables, provided that `place` allows
 * them.
 */
export async function secretReader(
  decoded: readonly DecodedFile[],
  place: Pick<ResourcePlace, 'secrets' | 'takesVariables'>,
  context: CommandContext,
): Promise<SecretReader> {
  const given = new Map(decoded.flatMap(({ secrets }) => secrets.map((secret) => [keyText(secret.key), secret])));
  const variables = place.takesVariables ? await secretFromVariables(context) : undefined;
  const placed = new Set<string>();
  return {
    get: async (key): Promise<ReadonlyMap<string, SecretText> | undefined> => {
      const members = given.get(keyText(key))?.members;
      if (members) return members;
      const existing = await place.secrets.get(key);
      if (existing) placed.add(keyText(key));
      return existing ?? variables;
    },
    takesVariables: (key) => place.takesVariables && !given.has(keyText(key)) && !placed.has(keyText(key)),
  };
}

/**
 * Reads files and directories, and returns their contents. A file that is given twice is read only once. Throws a
 * `UsageError` if a file cannot be read.
 */
export async function readSources(
  files: readonly string[],
  { cwd, readStdin }: Pick<CommandContext, 'cwd' | 'readStdin'>,
): Promise<readonly SourceFile[]> {
  const paths = new Set(files.flatMap((file) => (file === '-' ? [file] : manifestFiles(file, cwd))));
  const sources: SourceFile[] = [];
  for (const path of paths) {
    sources.push(path === '-' ? { name: '<stdin>', text: await readStdin() } : readSource(path, cwd));
  }
  return sources;
}

const manifestName = /\.(?:ya?ml|json)$/i;

/** Returns the given file, or the sorted manifests of the given directory. */
function manifestFiles(file: string, cwd: string): readonly string[] {
  const path = resolve(cwd, file);
  const stats = ifReadable(file, () => statSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) throw new UsageError(`${file} does not exist`);
  if (!stats.isDirectory()) return [path];
  const found = manifestsBelow(path, file);
  if (found.length === 0) throw new UsageError(`${file} contains no *.yaml, *.yml or *.json files`);
  return found.toSorted();
}

/**
 * Returns the manifests in a folder and its subfolders. Like `logfleet run`, ignores entries whose names begin with a
 * dot. Also ignores links to folders, because they can form cycles. `name` is the name of the folder in messages.
 */
function manifestsBelow(folder: string, name: string): readonly string[] {
  const entries = ifReadable(name, () => readdirSync(folder, { withFileTypes: true }));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.')) return [];
    if (entry.isDirectory()) return manifestsBelow(path, join(name, entry.name));
    return manifestName.test(entry.name) ? [path] : [];
  });
}

function readSource(path: string, cwd: string): SourceFile {
  const fromHere = relative(cwd, path);
  const name = fromHere.startsWith('..') || isAbsolute(fromHere) ? path : fromHere;
  return { name, text: ifReadable(name, () => readFileSync(path)) };
}

const { 'ca.crt': caFileVariable, ...plainVariables } = variables;

/** Returns the Secret that environment variables define, if any variable has a value. */
export async function secretFromVariables({
  env,
  cwd,
}: Pick<CommandContext, 'env' | 'cwd'>): Promise<ReadonlyMap<string, SecretText> | undefined> {
  const members = new Map<string, SecretText>();
  for (const [member, variable] of Object.entries(plainVariables)) {
    const value = env[variable];
    if (value) members.set(member, new SecretText(value));
  }
  const caFile = env[caFileVariable];
  if (members.size === 0 || !caFile) return members.size === 0 ? undefined : members;
  const file = resolve(cwd, caFile);
  const authority = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(
      `the environment variable ${caFileVariable} names ${file}, which cannot be read (${systemCode(error) ?? String(error)}): set the variable to the name of a file with a CA certificate (PEM)`,
    );
  });
  return members.set('ca.crt', new SecretText(authority));
}
