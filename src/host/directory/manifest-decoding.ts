/**
 * Decodes the text of one manifest file into resources, Secrets and operator settings. Ignores YAML documents of other
 * kinds.
 *
 * Invariant: an invalid file deletes no resource.
 */

import { error, type Finding, fileError, type PlacedFinding, type Position, placeFinding } from '../../api/finding.ts';
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { type ManifestDocument, parseManifestFile } from '../../api/manifest-file.ts';
import { checkOperatorSettings, isSettingsManifest, pausedIn } from '../../api/operator-settings.ts';
import { applyDefaults } from '../../api/schemas.ts';
import { readSecretMembers, type SecretMembers } from '../../api/secret-manifest.ts';
import { kindOf, misnamedKind, validateResource } from '../../api/validation.ts';
import { identify } from '../../base/key-text.ts';
import { isRecord, type JsonObject } from '../../base/record.ts';
import { SecretText } from '../../base/secret-text.ts';
import type { ResourceKey } from '../host.ts';
import { type Outline, outlineOf } from './manifest-outline.ts';
import { isResourceName } from './state-directory.ts';

/** Namespace of a resource whose manifest does not specify one. `kubectl apply` has the same default. */
export const defaultNamespace = 'default';

export interface DecodedResource {
  readonly kind: KindName;
  readonly key: ResourceKey;
  /** Spec of the resource, with the defaults from the schema. */
  readonly spec: ResourceOf<KindName>['spec'];
  readonly annotations: Readonly<Record<string, string>>;
  readonly position: Position;
}

export interface DecodedSecret {
  readonly kind: 'Secret';
  readonly key: ResourceKey;
  /** Namespace in the manifest. Undefined if the manifest does not specify one. */
  readonly ownNamespace: string | undefined;
  readonly members: ReadonlyMap<string, SecretText>;
  readonly position: Position;
}

/** Content of a `logfleet-settings` ConfigMap. Even an invalid ConfigMap is used, because it may pause the operator. */
interface DecodedSettings {
  /** Value of `paused` as written in the ConfigMap. */
  readonly paused: unknown;
}

export interface RefusedDocument {
  readonly kind: KindName | 'Secret';
  readonly key: ResourceKey;
  /** First problem found in the invalid document. */
  readonly problem: PlacedFinding | undefined;
}

export interface DecodedFile {
  readonly resources: readonly DecodedResource[];
  readonly secrets: readonly DecodedSecret[];
  readonly settings: readonly DecodedSettings[];
  /** Invalid resources and Secrets in the file. */
  readonly refused: readonly RefusedDocument[];
  /** Outlines (field names without values) of the valid objects in the file, by object identity. */
  readonly outlines: Outline;
  /**
   * Set if the file may contain resources whose names logfleet cannot read: `whole` if the whole file is unreadable, or
   * `part` if only part of it is.
   */
  readonly unclear: 'whole' | 'part' | undefined;
  readonly problems: readonly PlacedFinding[];
}

/**
 * Returns the last valid version of a resource. New versions are compared with this version, because immutable fields
 * must not change.
 */
export type PreviousOf = (kind: KindName, key: ResourceKey) => object | undefined;

interface Decoding {
  readonly file: string;
  readonly namespace: string;
  readonly previousOf: PreviousOf;
  readonly resources: DecodedResource[];
  readonly secrets: DecodedSecret[];
  readonly settings: DecodedSettings[];
  readonly refused: RefusedDocument[];
  readonly outlines: Record<string, Outline>;
  readonly problems: PlacedFinding[];
  /** Number of logfleet resources in the file whose names cannot be read. */
  unnamed: number;
}

/**
 * Decodes the text of one manifest file.
 * @param file file name that problems show
 * @param namespace namespace for manifests that do not specify one
 */
export function decodeManifest(
  file: string,
  text: string | Uint8Array,
  previousOf: PreviousOf,
  namespace = defaultNamespace,
): DecodedFile {
  const parsed = parseManifestFile(text);
  const problems = parsed.problems.map((problem) => ({ ...fileError(file, 'Unreadable', '', ''), ...problem }));
  const found = { resources: [], secrets: [], settings: [], refused: [], outlines: {} };
  const decoding: Decoding = { file, namespace, previousOf, ...found, problems, unnamed: 0 };
  for (const document of parsed.documents) decodeDocument(decoding, document);
  const { resources, secrets, settings, refused, outlines, unnamed } = decoding;
  const isPart = parsed.problems.length > 0 || unnamed > 0;
  const unclear = parsed.isRefused ? 'whole' : isPart ? 'part' : undefined;
  return { resources, secrets, settings, refused, outlines, problems, unclear };
}

function decodeDocument(decoding: Decoding, document: ManifestDocument): void {
  const { value } = document;
  const misnamed = misnamedKind(value);
  if (misnamed) {
    decoding.unnamed++;
    report(decoding, document, misnamed);
    return;
  }
  if (!isRecord(value)) return;
  const kind = kindOf(value);
  if (kind !== undefined) decodeResource(decoding, document, kind, value);
  else if (value.apiVersion === 'v1' && value.kind === 'Secret') decodeSecret(decoding, document, value);
  else if (isSettingsManifest(value)) {
    for (const finding of checkOperatorSettings(value)) report(decoding, document, finding);
    decoding.settings.push({ paused: pausedIn(value) });
    decoding.outlines['ConfigMap/logfleet-settings'] = outlineOf(value);
  }
}

function decodeResource(decoding: Decoding, document: ManifestDocument, kind: KindName, value: JsonObject): void {
  const key = keyOf(value, decoding.namespace);
  const known = decoding.problems.length;
  const findings = validateResource(kind, value, key && decoding.previousOf(kind, key));
  for (const finding of findings) report(decoding, document, finding);
  const problem = decoding.problems.slice(known).find(({ severity }) => severity === 'error');
  if (!key) {
    if (!problem) report(decoding, document, nameMissing);
    decoding.unnamed++;
    return;
  }
  if (problem) {
    decoding.refused.push({ kind, key, problem });
    return;
  }
  const { spec, metadata } = applyDefaults(kind, value) as unknown as ResourceOf<KindName>;
  // A null annotation becomes an empty string, as on an API server.
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).map(([name, text]) => [name, text ?? '']),
  );
  decoding.resources.push({ kind, key, spec, annotations, position: document.locate([]) });
  decoding.outlines[identify(kind, key)] = outlineOf(value);
}

const nameMissing: Finding = error(['metadata', 'name'], 'Required', {
  problem: 'is missing',
  remedy: 'a manifest in a directory needs a name, for example: name: production',
});

function decodeSecret(decoding: Decoding, document: ManifestDocument, value: JsonObject): void {
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
    const position = document.locate([]);
    decoding.secrets.push({ kind: 'Secret', key, ownNamespace, members: hidden(members), position });
    decoding.outlines[identify('Secret', key)] = outlineOf(value);
  }
}

function hidden(members: SecretMembers['members']): ReadonlyMap<string, SecretText> {
  return new Map([...members].map(([name, { text = '' }]) => [name, new SecretText(text)]));
}

function keyOf(value: JsonObject, otherwise: string): ResourceKey | undefined {
  if (!isRecord(value.metadata)) return undefined;
  const { name, namespace = otherwise } = value.metadata;
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  return isResourceName(name) && isResourceName(namespace) ? { namespace, name } : undefined;
}

function report({ problems, file }: Decoding, document: ManifestDocument, finding: Finding): void {
  problems.push(placeFinding(file, document, finding));
}
