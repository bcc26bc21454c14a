/**
 * Validates a set of manifests together: each logfleet resource, the Secrets that resources name, the ConfigMap with the operator's
 * settings, and conflicts between documents, such as a resource that occurs twice.
 *
 * Documents of other kinds are skipped, since repositories mix them with ours.
 */

import { isRecord } from '../base/record.ts';
import { error, type Finding, fileError, type PlacedFinding, placeFinding, warning } from './finding.ts';
import { valueAt } from './json-path.ts';

import { type ManifestDocument, parseManifestFile } from './manifest-file.ts';
import { checkSettings, isSettingsManifest } from './operator-settings.ts';
import { checkStoreSecret } from './secret-manifest.ts';
import { kindOf, misnamedKind, validateResource } from './validation.ts';

export interface SourceFile {
  /** Name of the file as shown to people. */
  readonly name: string;
  /** Bytes or text of the file. */
  readonly text: string | Uint8Array;
}

export interface ManifestReport {
  /** Findings about all manifests, ordered by file, then by position. */
  readonly findings: readonly PlacedFinding[];
  /** Number of checked logfleet resources and settings, including invalid ones. */
  readonly checked: number;
  /** Number of skipped documents of other kinds. Checked Secrets are not counted. */
  readonly passedOver: number;
}

interface Placed {
  readonly file: string;
  readonly document: ManifestDocument;
  readonly members: Readonly<Record<string, unknown>>;
}

/**
 * Validates all manifests.
 * @param checkSecret checks a Secret with credentials for the log service
 * @param wallMs current time; without it, checks that depend on the time are skipped
 */
export function checkManifests(
  files: readonly SourceFile[],
  checkSecret: (secret: object) => readonly Finding[],
  wallMs?: number,
): ManifestReport {
  const findings: PlacedFinding[] = [];
  const resources: Placed[] = [];
  const others: Placed[] = [];
  for (const { name: file, text } of files) {
    const { documents, problems } = parseManifestFile(text);
    for (const problem of problems) findings.push({ ...fileError(file, 'Unreadable', '', ''), ...problem });
    for (const document of documents) {
      const placed: Placed = { file, document, members: isRecord(document.value) ? document.value : {} };
      (isOurs(placed) ? resources : others).push(placed);
    }
  }
  const [first] = files;
  if (first && findings.length + resources.length + others.length === 0) {
    findings.push(fileError(first.name, 'Required', 'no document in any file, only comments', 'write a manifest'));
  }
  for (const resource of resources) findings.push(...checkResource(resource, wallMs));
  const settings = others.filter(({ members }) => isSettingsManifest(members));
  for (const each of settings) findings.push(...checkSettings(each.members).map((finding) => place(each, finding)));
  const secrets = findSecrets(resources, others);
  findings.push(...checkDuplicates([...resources, ...settings]), ...secrets.findings);
  for (const secret of secrets.service) {
    findings.push(...checkSecret(secret.members).map((finding) => place(secret, finding)));
  }
  for (const secret of secrets.store) {
    findings.push(...checkStoreSecret(secret.members).map((finding) => place(secret, finding)));
  }
  const order = new Map(files.map(({ name }, index) => [name, index]));
  findings.sort((left, right) => compareFindings(left, right, order));
  const checked = resources.length + settings.length;
  const named = new Set([...secrets.service, ...secrets.store]).size;
  return { findings, checked, passedOver: others.length - named - settings.length };
}

/**
 * Returns whether a document is a logfleet resource. Also true if only its group or only its kind is logfleet's, or if
 * it is not a manifest at all.
 */
function isOurs({ document: { value } }: Placed): boolean {
  return kindOf(value) !== undefined || misnamedKind(value) !== undefined;
}

function checkResource(placed: Placed, wallMs: number | undefined): readonly PlacedFinding[] {
  const misnamed = misnamedKind(placed.document.value);
  if (misnamed) return [place(placed, misnamed)];
  const kind = kindOf(placed.document.value);
  if (kind === undefined) return [];
  return validateResource(kind, placed.members, undefined, wallMs).map((finding) => place(placed, finding));
}

function place({ file, document }: Placed, finding: Finding): PlacedFinding {
  return placeFinding(file, document, finding);
}

function checkDuplicates(resources: readonly Placed[]): readonly PlacedFinding[] {
  const seen = new Map<string, Placed>();
  const findings: PlacedFinding[] = [];
  for (const resource of resources) {
    const { name, namespace } = namesOf(resource);
    if (name === undefined) continue;
    const key = `${String(resource.members['kind'])} ${namespace ?? ''}/${name}`;
    const first = seen.get(key);
    seen.set(key, first ?? resource);
    if (first === undefined) continue;
    const { line } = first.document.locate([]);
    findings.push(
      place(
        resource,
        error(
          ['metadata', 'name'],
          'Duplicate',
          `${name} is already in ${first.file}, line ${line}`,
          'write another name, or delete one of the two',
        ),
      ),
    );
  }
  return findings;
}

interface FoundSecrets {
  /** Secrets that contain credentials for the log service. */
  readonly service: ReadonlySet<Placed>;
  /** Secrets that contain credentials for an object store. */
  readonly store: ReadonlySet<Placed>;
  readonly findings: readonly PlacedFinding[];
}

/** Finds the Secrets that logfleet resources name. Other Secrets are ignored. */
function findSecrets(resources: readonly Placed[], others: readonly Placed[]): FoundSecrets {
  const found = { service: new Set<Placed>(), store: new Set<Placed>() };
  const findings: PlacedFinding[] = [];
  for (const resource of resources) {
    for (const { path, use } of secretReferences) {
      const reference = valueAt(resource.members, path);
      const { namespace } = namesOf(resource);
      const sameName = others.filter((other) => isSecret(other) && namesOf(other).name === reference);
      const reachable = sameName.filter((other) => namesOf(other).namespace === namespace);
      for (const secret of reachable) found[use].add(secret);
      if (sameName.length === 0 || reachable.length > 0) continue;
      const wanted = namespace === undefined ? 'without a namespace, as the resource' : `in namespace ${namespace}`;
      findings.push(
        place(
          resource,
          warning(
            path,
            'Risky',
            `the Secret ${String(reference)} in these manifests is in another namespace`,
            `write it ${wanted}`,
          ),
        ),
      );
    }
  }
  return { ...found, findings };
}

/** Fields in which logfleet resources name Secrets, and the use of each Secret. */
const secretReferences = [
  { path: ['spec', 'credentialsSecretRef', 'name'], use: 'service' },
  { path: ['spec', 'destination', 's3', 'credentialsSecretRef', 'name'], use: 'store' },
] as const;

function isSecret({ members: { apiVersion, kind } }: Placed): boolean {
  return apiVersion === 'v1' && kind === 'Secret';
}

function namesOf({ members }: Placed): { readonly name: string | undefined; readonly namespace: string | undefined } {
  const { name, namespace } = isRecord(members['metadata']) ? members['metadata'] : {};
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { name: text(name), namespace: text(namespace) };
}

function compareFindings(left: PlacedFinding, right: PlacedFinding, order: ReadonlyMap<string, number>): number {
  return (
    (order.get(left.file) ?? 0) - (order.get(right.file) ?? 0) || left.line - right.line || left.column - right.column
  );
}
