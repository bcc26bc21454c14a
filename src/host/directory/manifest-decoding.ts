/**
 * The text of one manifest file → the resources, Secrets and settings in it, with defaults filled in, and what is wrong with the rest.
 *
 * Invariant: bad input takes nothing away. Of a document that is refused its name is kept where it can be read, and a file of
 * which not even that is known is marked as `unclear`: whoever had resources from it keeps them. Documents of other kinds are none
 * of our business. What a good document means is left to the reconcilers.
 */
import { applyDefaults } from '../../api/defaults.ts';
import { renderPath } from '../../api/json-path.ts';

import type { KindName, ResourceOf } from '../../api/kinds.ts';

import { type ManifestDocument, type Position, parseManifestFile } from '../../api/manifest-file.ts';
import { checkSettings, isSettingsManifest, pausedIn } from '../../api/operator-settings.ts';
import { readSecretMembers, type SecretMembers } from '../../api/secret-manifest.ts';
import { type Finding, kindOf, misnamedKind, validateResource } from '../../api/validation.ts';
import { SecretText } from '../../base/secret-text.ts';
import type { ResourceKey } from '../host.ts';
import { isRecord } from './plain-data.ts';
import type { Problem } from './problem.ts';
import { isResourceName } from './state-directory.ts';

/** The namespace of a manifest that names none, as `kubectl apply` has it. */
export const defaultNamespace = 'default';

export interface DecodedResource {
  readonly kind: KindName;
  readonly key: ResourceKey;
  /** With the defaults of the schema. */
  readonly spec: ResourceOf<KindName>['spec'];
  readonly annotations: Readonly<Record<string, string>>;
  readonly position: Position;
}

export interface DecodedSecret {
  readonly key: ResourceKey;
  /** As its manifest names it, if it does. */
  readonly ownNamespace: string | undefined;
  readonly members: ReadonlyMap<string, SecretText>;
  readonly position: Position;
}

/** A ConfigMap `logfleet-settings`. None is refused: what is wrong with one is no reason to overlook that it pauses. */
export interface DecodedSettings {
  /** As it was written; what it means is in `operator-settings.ts`. */
  readonly paused: unknown;
}

export interface RefusedDocument {
  readonly kind: KindName | 'Secret';
  readonly key: ResourceKey;
  /** The first of the problems that it is refused for. */
  readonly problem: Problem | undefined;
}

export interface DecodedFile {
  readonly resources: readonly DecodedResource[];
  readonly secrets: readonly DecodedSecret[];
  readonly settings: readonly DecodedSettings[];
  /** Resources and Secrets that are there and cannot be used. */
  readonly refused: readonly RefusedDocument[];
  /**
   * How much of the file could not be read: the `whole` of it, or a `part`, which is a document that does not say which resource it
   * is. Undefined where every document is known.
   */
  readonly unclear: 'whole' | 'part' | undefined;
  readonly problems: readonly Problem[];
}

/** The last good spec of a resource, for rules about what may change. */
export type PreviousOf = (kind: KindName, key: ResourceKey) => object | undefined;

interface Decoding {
  readonly file: string;
  readonly namespace: string;
  readonly resources: DecodedResource[];
  readonly secrets: DecodedSecret[];
  readonly settings: DecodedSettings[];
  readonly refused: RefusedDocument[];
  readonly problems: Problem[];
  /** Number of documents of logfleet's that do not say which resource they are. */
  unnamed: number;
}

/** `file` is its name in problems, `namespace` that of manifests which name none. */
export function decodeManifest(
  file: string,
  text: string | Uint8Array,
  previousOf: PreviousOf,
  namespace = defaultNamespace,
): DecodedFile {
  const parsed = parseManifestFile(text);
  const problems = parsed.problems.map(
    ({ position, message }): Problem => ({ severity: 'error', file, ...position, message }),
  );
  const found = { resources: [], secrets: [], settings: [], refused: [] };
  const decoding: Decoding = { file, namespace, ...found, problems, unnamed: 0 };
  for (const document of parsed.documents) decodeDocument(decoding, document, previousOf);
  const { resources, secrets, settings, refused, unnamed } = decoding;
  const isPart = parsed.problems.length > 0 || unnamed > 0;
  const unclear = parsed.isRefused ? 'whole' : isPart ? 'part' : undefined;
  return { resources, secrets, settings, refused, problems, unclear };
}

function decodeDocument(decoding: Decoding, document: ManifestDocument, previousOf: PreviousOf): void {
  const { value } = document;
  const misnamed = misnamedKind(value);
  if (misnamed) {
    decoding.unnamed++;
    report(decoding, document, misnamed);
    return;
  }
  if (!isRecord(value)) return;
  const kind = kindOf(value);
  if (kind !== undefined) decodeResource(decoding, document, kind, value, previousOf);
  else if (value.apiVersion === 'v1' && value.kind === 'Secret') decodeSecret(decoding, document, value);
  else if (isSettingsManifest(value)) {
    for (const finding of checkSettings(value)) report(decoding, document, finding);
    decoding.settings.push({ paused: pausedIn(value) });
  }
}

function decodeResource(
  decoding: Decoding,
  document: ManifestDocument,
  kind: KindName,
  value: Readonly<Record<string, unknown>>,
  previousOf: PreviousOf,
): void {
  const key = keyOf(value, decoding.namespace);
  const known = decoding.problems.length;
  const findings = validateResource(kind, value, key && previousOf(kind, key));
  for (const finding of findings) report(decoding, document, finding);
  if (!key) {
    if (!findings.some(({ severity }) => severity === 'error')) report(decoding, document, nameMissing);
    decoding.unnamed++;
    return;
  }
  if (findings.some(({ severity }) => severity === 'error')) {
    const problem = decoding.problems.slice(known).find(({ severity }) => severity === 'error');
    decoding.refused.push({ kind, key, problem });
    return;
  }
  const { spec, metadata } = applyDefaults(kind, value) as unknown as ResourceOf<KindName>;
  // An API server takes null for an empty text.
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).map(([name, text]) => [name, text ?? '']),
  );
  decoding.resources.push({ kind, key, spec, annotations, position: document.locate([]) });
}

const nameMissing: Finding = {
  severity: 'error',
  path: ['metadata', 'name'],
  part: 'value',
  message: 'is missing; a directory gives no names by itself, so write one, as in name: production',
};

function decodeSecret(decoding: Decoding, document: ManifestDocument, value: Readonly<Record<string, unknown>>): void {
  const key = keyOf(value, decoding.namespace);
  if (!key) {
    report(decoding, document, nameMissing);
    decoding.unnamed++;
    return;
  }
  const known = decoding.problems.length;
  const { members, findings } = readSecretMembers(value);
  for (const finding of findings) report(decoding, document, finding);
  if (findings.length > 0) decoding.refused.push({ kind: 'Secret', key, problem: decoding.problems[known] });
  else {
    const ownNamespace = isRecord(value.metadata) && value.metadata.namespace !== undefined ? key.namespace : undefined;
    decoding.secrets.push({ key, ownNamespace, members: hidden(members), position: document.locate([]) });
  }
}

function hidden(members: SecretMembers['members']): ReadonlyMap<string, SecretText> {
  return new Map([...members].map(([name, { text = '' }]) => [name, new SecretText(text)]));
}

function keyOf(value: Readonly<Record<string, unknown>>, otherwise: string): ResourceKey | undefined {
  if (!isRecord(value.metadata)) return undefined;
  const { name, namespace = otherwise } = value.metadata;
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  return isResourceName(name) && isResourceName(namespace) ? { namespace, name } : undefined;
}

function report(decoding: Decoding, document: ManifestDocument, { severity, path, part, message }: Finding): void {
  const place = path.length === 0 ? '' : `${renderPath(path)}: `;
  decoding.problems.push({
    severity,
    file: decoding.file,
    ...document.locate(path, part),
    message: `${place}${message}`,
  });
}
