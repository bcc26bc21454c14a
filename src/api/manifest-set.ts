/**
 * Validates manifests together: resources, their Secrets, the operator's settings, and duplicate documents. Other kinds
 * are skipped.
 */

import { isRecord, type JsonObject } from '../base/record.ts';
import { error, type Finding, fileError, type PlacedFinding, placeFinding, warning } from './finding.ts';
import { type JsonPath, valueAt } from './json-path.ts';
import { type ManifestDocument, parseManifestFile } from './manifest-file.ts';
import { checkOperatorSettings, isSettingsManifest } from './operator-settings.ts';
import { readSecretMembers, storeSecretChecks } from './secret-manifest.ts';
import { tokenEndpointProblem } from './token-endpoint.ts';
import { kindOf, misnamedKind, validateResource } from './validation.ts';

export interface SourceFile {
  readonly name: string;
  readonly text: string | Uint8Array;
}

export interface ManifestReport {
  /** Errors and warnings, ordered by file and position. */
  readonly findings: readonly PlacedFinding[];
  /** Number of checked resources and ConfigMaps, including invalid ones. */
  readonly checked: number;
  /** Number of skipped documents of other kinds. */
  readonly passedOver: number;
}

interface Placed {
  readonly file: string;
  readonly document: ManifestDocument;
  readonly members: JsonObject;
}

/**
 * Validates all manifests. Without the current time `wallMs`, skips checks that depend on it.
 * @param checkSecret checks a Secret with credentials for the log service
 */
export function checkManifests(
  files: readonly SourceFile[],
  checkSecret: (secret: object) => readonly Finding[],
  wallMs?: number,
): ManifestReport {
  const findings: PlacedFinding[] = [];
  const report = ({ file, document }: Placed, found: Iterable<Finding>) => {
    for (const finding of found) findings.push(placeFinding(file, document, finding));
  };
  const resources: Placed[] = [];
  const others: Placed[] = [];
  for (const { name: file, text } of files) {
    const { documents, problems } = parseManifestFile(text);
    for (const problem of problems) findings.push({ ...fileError(file, 'Unreadable', '', ''), ...problem });
    for (const document of documents) {
      const { value } = document;
      const misnamed = misnamedKind(value);
      const kind = kindOf(value);
      const placed: Placed = { file, document, members: isRecord(value) ? value : {} };
      (misnamed || kind ? resources : others).push(placed);
      if (misnamed) report(placed, [misnamed]);
      else if (kind) report(placed, validateResource(kind, placed.members, undefined, wallMs));
    }
  }
  const [first] = files;
  if (first && findings.length + resources.length + others.length === 0) {
    findings.push(
      fileError(first.name, 'Required', 'the files contain only comments, and no documents', 'add a manifest'),
    );
  }
  const settings = others.filter(({ members }) => isSettingsManifest(members));
  for (const each of settings) report(each, checkOperatorSettings(each.members));
  for (const [resource, duplicate] of duplicates([...resources, ...settings])) report(resource, [duplicate]);
  const secrets = checkSecrets(resources, others, checkSecret, report);
  const examined = new Set([...settings, ...secrets]);
  const order = new Map(files.map(({ name }, index) => [name, index]));
  findings.sort((left, right) => compareFindings(left, right, order));
  return { findings, checked: resources.length + settings.length, passedOver: others.length - examined.size };
}

/** Checks the Secrets that the resources refer to, and the references themselves. Returns the checked Secrets. */
function checkSecrets(
  resources: readonly Placed[],
  others: readonly Placed[],
  checkSecret: (secret: object) => readonly Finding[],
  report: (placed: Placed, found: Iterable<Finding>) => void,
): ReadonlySet<Placed> {
  const examined = new Set<Placed>();
  // Fields in which an export names its Secrets. In a schedule, these fields are below `spec.template`.
  const references = [
    { field: ['spec'], check: checkSecret },
    ...Object.entries(storeSecretChecks).map(([store, check]) => ({ field: ['spec', 'destination', store], check })),
  ];
  for (const { field, check } of references) {
    const secrets = new Set<Placed>();
    for (const resource of resources) {
      const isSchedule = kindOf(resource.members) === 'SearchExportSchedule';
      const path = isSchedule ? ['spec', 'template', ...field] : field;
      const { found, finding } = findSecret(resource, [...path, 'credentialsSecretRef', 'name'], others);
      report(resource, finding);
      for (const secret of found) {
        secrets.add(secret);
        report(resource, checkEndpoint(resource, path, secret));
      }
    }
    for (const secret of secrets) {
      examined.add(secret);
      report(secret, check(secret.members));
    }
  }
  return examined;
}

/** Returns an error if the field `endpoint` below `path` is an address that must not get the Secret's credentials. */
function checkEndpoint({ members }: Placed, path: JsonPath, secret: Placed): readonly Finding[] {
  const store = path.at(-1);
  const endpoint = valueAt(members, [...path, 'endpoint']);
  if ((store !== 'azureBlob' && store !== 'gcs') || typeof endpoint !== 'string') return [];
  const { members: texts } = readSecretMembers(secret.members);
  const problem = tokenEndpointProblem(store, endpoint, (name) => texts.get(name)?.text?.trim() || undefined);
  return problem ? [error([...path, 'endpoint'], 'Invalid', problem)] : [];
}

/**
 * Yields each duplicate document with its error. A duplicate has the same kind, namespace and name as an earlier
 * document.
 */
function* duplicates(all: readonly Placed[]): Generator<readonly [Placed, Finding]> {
  const seen = new Map<string, Placed>();
  for (const each of all) {
    const { name, namespace } = namesOf(each);
    if (name === undefined) continue;
    const key = `${String(each.members['kind'])} ${namespace ?? ''}/${name}`;
    const first = seen.get(key);
    if (first) {
      const problem = `${name} is already in ${first.file}, line ${first.document.locate([]).line}`;
      yield [
        each,
        error(['metadata', 'name'], 'Duplicate', { problem, remedy: 'use another name, or delete one of the two' }),
      ];
    } else seen.set(key, each);
  }
}

/**
 * Returns the Secret that a field names. Returns a warning if a Secret with this name exists only in another namespace.
 */
function findSecret(resource: Placed, path: JsonPath, others: readonly Placed[]) {
  const name = valueAt(resource.members, path);
  const { namespace } = namesOf(resource);
  const sameName = others.filter((other) => isSecret(other) && namesOf(other).name === name);
  const found = sameName.filter((other) => namesOf(other).namespace === namespace);
  if (sameName.length === 0 || found.length > 0) return { found, finding: [] };
  const problem = `the Secret ${String(name)} cannot be used, because in these manifests it is in another namespace`;
  const wanted = namespace === undefined ? 'without a namespace, like the resource' : `in namespace ${namespace}`;
  return { found, finding: [warning(path, 'Risky', { problem, remedy: `define the Secret ${wanted}` })] };
}

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
