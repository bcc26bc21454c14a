/**
 * Checks `apiVersion` and `metadata` of a resource, which CRD schemas leave to the API server: names, labels, annotations. Also
 * checks that logfleet's own annotations have values with an effect.
 */
import { isRecord } from '../base/record.ts';
import { annotations as ownAnnotationNames, parseApproval, parseRolloutRequest } from './annotations.ts';
import { nearest } from './did-you-mean.ts';
import { type Explanation, error, type Finding, warning } from './finding.ts';
import { apiGroup, apiVersionName } from './kinds.ts';

const subdomainForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelValueForm = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const metadataFields = [
  'name',
  'generateName',
  'namespace',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  // Members of `metadata` that a resource exported from a cluster contains.
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];
const ownAnnotations: readonly string[] = Object.values(ownAnnotationNames);

type Members = Readonly<Record<string, unknown>>;

export function checkMetadata(resource: Members): readonly Finding[] {
  const { apiVersion, kind, metadata } = resource;
  return [...checkApiVersion(apiVersion), ...checkMembers(metadata, annotationsOf(kind))];
}

/**
 * Returns the names of annotations that have an effect on this kind. An export has no rollout, so fewer annotations
 * apply to it.
 */
function annotationsOf(kind: unknown): readonly string[] {
  const { paused, requestedAt } = ownAnnotationNames;
  return kind === 'SearchExport' ? [paused, requestedAt] : ownAnnotations;
}

function checkApiVersion(apiVersion: unknown): readonly Finding[] {
  const known = `${apiGroup}/${apiVersionName}`;
  return apiVersion === known
    ? []
    : [error(['apiVersion'], 'Unknown', `this kind has no version ${String(apiVersion)}`, `write ${known}`)];
}

function checkMembers(metadata: unknown, known: readonly string[]): readonly Finding[] {
  if (!isRecord(metadata))
    return [error(['metadata'], 'Required', 'is missing', 'write it, as in metadata: {name: production}')];
  const findings = [...checkNames(metadata)];
  for (const name of Object.keys(metadata)) {
    if (metadataFields.includes(name)) continue;
    const meant = nearest(name, metadataFields);
    findings.push(
      error(
        ['metadata', name],
        'Unknown',
        'there is no such field',
        `${meant ? `did you mean ${meant}?` : 'write it as a label or an annotation'}`,
        'key',
      ),
    );
  }
  findings.push(...checkForms(metadata), ...checkSize(metadata['annotations']));
  findings.push(...checkTexts('labels', metadata['labels']), ...checkTexts('annotations', metadata['annotations']));
  for (const [name, value] of isRecord(metadata['labels']) ? Object.entries(metadata['labels']) : []) {
    if (typeof value !== 'string' || labelValueForm.test(value)) continue;
    findings.push(
      error(
        ['metadata', 'labels', name],
        'Invalid',
        'is not a label value',
        'write up to 63 letters, digits, "-", "_" and ".", or make it an annotation',
      ),
    );
  }
  return [...findings, ...checkOwnAnnotations(metadata['annotations'], known)];
}

function* checkNames({ name, generateName, namespace }: Members): Generator<Finding> {
  const rule = 'lower-case letters, digits, "-" and "."';
  if (name === undefined && generateName === undefined) {
    yield error(['metadata', 'name'], 'Required', 'is missing', 'write it, as in name: production');
  } else if (name !== undefined && !(typeof name === 'string' && name.length <= 253 && subdomainForm.test(name))) {
    yield error(
      ['metadata', 'name'],
      'Invalid',
      `${JSON.stringify(name)} is not a name`,
      `write at most 253 ${rule}, as in production`,
    );
  }
  if (namespace === undefined) return;
  const problem = namespaceProblem(namespace);
  if (problem) yield error(['metadata', 'namespace'], 'Invalid', problem.problem, problem.remedy);
}

/** Returns the problem of an invalid namespace, or undefined. */
export function namespaceProblem(namespace: unknown): Explanation | undefined {
  if (typeof namespace === 'string' && namespace.length <= 63 && labelForm.test(namespace)) return undefined;
  const remedy = 'write at most 63 lower-case letters, digits and "-"';
  return { problem: `${JSON.stringify(namespace)} is not a namespace`, remedy };
}

const isText = (value: unknown) => typeof value === 'string';
const isTime = (value: unknown) =>
  isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)$/.test(String(value));
const isListOf = (isItem: (item: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isItem);
const isOwner = (value: unknown) =>
  isRecord(value) &&
  ['apiVersion', 'kind', 'name', 'uid'].every((field) => isText(value[field]) && value[field] !== '');

/**
 * Valid forms of the `metadata` members that API servers write, by name. A manifest that was exported from a cluster
 * contains such members.
 */
const memberForms: readonly (readonly [string, (value: unknown) => boolean, string])[] = [
  ...['generateName', 'uid', 'resourceVersion', 'selfLink'].map((name) => [name, isText, 'a text'] as const),
  ...['generation', 'deletionGracePeriodSeconds'].map((name) => [name, Number.isInteger, 'an integer'] as const),
  ...['creationTimestamp', 'deletionTimestamp'].map((name) => [name, isTime, 'a time'] as const),
  ['finalizers', isListOf(isText), 'a list of texts'],
  ['ownerReferences', isListOf(isOwner), 'a list of owners with apiVersion, kind, name and uid'],
  ['managedFields', isListOf(isRecord), 'a list of objects'],
];

function* checkForms(metadata: Members): Generator<Finding> {
  for (const [name, isValid, form] of memberForms) {
    const value = metadata[name];
    if (value === undefined || value === null || isValid(value)) continue;
    yield error(['metadata', name], 'WrongType', `must be ${form}`, 'write it so, or leave it out');
  }
}

/** Maximum size of all annotations of a resource, names included, in bytes of UTF-8. */
const maxAnnotationBytes = 262_144;

function* checkSize(annotations: unknown): Generator<Finding> {
  if (!isRecord(annotations)) return;
  const bytes = Object.entries(annotations).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  if (bytes <= maxAnnotationBytes) return;
  yield error(
    ['metadata', 'annotations'],
    'OutOfRange',
    `have ${bytes} bytes`,
    `write at most ${maxAnnotationBytes} bytes in total`,
  );
}

function* checkTexts(field: string, texts: unknown): Generator<Finding> {
  if (texts === undefined || texts === null) return;
  if (!isRecord(texts)) {
    yield error(['metadata', field], 'WrongType', 'must be a mapping', 'write names and texts');
    return;
  }
  for (const [name, value] of Object.entries(texts)) {
    if (!isQualifiedName(field === 'annotations' ? name.toLowerCase() : name)) {
      yield error(
        ['metadata', field, name],
        'Invalid',
        `${JSON.stringify(name)} is not a valid name`,
        'write up to 63 letters, digits, "-", "_" and ".", as in team',
        'key',
      );
    }
    // A null annotation becomes an empty text, as on an API server.
    if (typeof value === 'string' || value === null) continue;
    yield error(
      ['metadata', field, name],
      'WrongType',
      `must be a text, not ${JSON.stringify(value)}`,
      `write it in quotes, as in "${String(value)}"`,
    );
  }
}

/** Returns whether a text is `name` or `prefix/name`, the form of label and annotation names. */
function isQualifiedName(text: string): boolean {
  const [name = '', prefix, ...others] = text.split('/').reverse();
  if (others.length > 0 || !/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && subdomainForm.test(prefix));
}

function* checkOwnAnnotations(annotations: unknown, known: readonly string[]): Generator<Finding> {
  if (!isRecord(annotations)) return;
  for (const [name, value] of Object.entries(annotations)) {
    if (!name.startsWith(`${apiGroup}/`)) continue;
    const path = ['metadata', 'annotations', name];
    if (ownAnnotations.includes(name) && !known.includes(name)) {
      yield warning(
        path,
        'NoEffect',
        'applies to rollouts, and an export has none',
        `write ${known.join(' or ')}, or leave it out`,
        'key',
      );
    } else if (!known.includes(name)) {
      const meant = nearest(name, known) ?? known.join(' or ');
      yield warning(path, 'Unknown', 'logfleet has no such annotation', `did you mean ${meant}?`, 'key');
    } else if (typeof value === 'string') {
      const ineffective = ineffectiveValue(name, value);
      if (ineffective) yield warning(path, 'NoEffect', ineffective.problem, ineffective.remedy);
    }
  }
}

/** Returns the problem of an annotation's value that would have no effect. Returns undefined if the value has an effect. */
function ineffectiveValue(name: string, value: string): Explanation | undefined {
  const shown = JSON.stringify(value);
  switch (name) {
    case ownAnnotationNames.paused:
      if (value === 'true' || value === 'false') return undefined;
      return { problem: `only "true" pauses, and this is ${shown}`, remedy: 'write "true", or delete the annotation' };
    case ownAnnotationNames.approve:
      if (parseApproval(value)) return undefined;
      return { problem: `${shown} approves nothing`, remedy: 'write ROLLOUT/STAGE, as in 3-19.500-1/canary' };
    case ownAnnotationNames.retry:
    case ownAnnotationNames.abort:
      if (parseRolloutRequest(value)) return undefined;
      return { problem: `${shown} names no rollout`, remedy: 'write the id in status.rollout, as in 3-19.500-1' };
    default:
      return undefined;
  }
}
