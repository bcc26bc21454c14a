/**
 * `apiVersion` and `metadata` of a resource, which CRD schemas leave to the API server: names, labels, annotations. Beyond that,
 * annotations of logfleet's own that it would not act on.
 */
import { annotations as ownAnnotationNames, parseApproval, parseRolloutRequest } from './annotations.ts';
import { nearest } from './did-you-mean.ts';
import type { Finding } from './finding.ts';
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
  // What a resource that came out of a cluster brings along.
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

/** What a person can ask of a resource: an export has no rollout. */
function annotationsOf(kind: unknown): readonly string[] {
  const { paused, requestedAt } = ownAnnotationNames;
  return kind === 'SearchExport' ? [paused, requestedAt] : ownAnnotations;
}

function checkApiVersion(apiVersion: unknown): readonly Finding[] {
  const known = `${apiGroup}/${apiVersionName}`;
  return apiVersion === known
    ? []
    : [error(['apiVersion'], `there is no version ${String(apiVersion)} of this kind; write ${known}`)];
}

function checkMembers(metadata: unknown, known: readonly string[]): readonly Finding[] {
  if (!isRecord(metadata)) return [error(['metadata'], 'is missing; write it, as in metadata: {name: production}')];
  const findings = [...checkNames(metadata)];
  for (const name of Object.keys(metadata)) {
    if (metadataFields.includes(name)) continue;
    const meant = nearest(name, metadataFields);
    const message = `there is no such field; ${meant ? `did you mean ${meant}?` : 'write it as a label or an annotation'}`;
    findings.push(error(['metadata', name], message, 'key'));
  }
  findings.push(...checkTexts('labels', metadata['labels']), ...checkTexts('annotations', metadata['annotations']));
  for (const [name, value] of isRecord(metadata['labels']) ? Object.entries(metadata['labels']) : []) {
    if (typeof value !== 'string' || labelValueForm.test(value)) continue;
    const message =
      'is no value of a label; write up to 63 letters, digits, "-", "_" and ".", or make it an annotation';
    findings.push(error(['metadata', 'labels', name], message));
  }
  return [...findings, ...checkOwnAnnotations(metadata['annotations'], known)];
}

function* checkNames({ name, generateName, namespace }: Members): Generator<Finding> {
  const rule = 'lower-case letters, digits, "-" and "."';
  if (name === undefined && generateName === undefined) {
    yield error(['metadata', 'name'], 'is missing; write it, as in name: production');
  } else if (name !== undefined && !(typeof name === 'string' && name.length <= 253 && subdomainForm.test(name))) {
    yield error(
      ['metadata', 'name'],
      `${JSON.stringify(name)} is no name; write at most 253 ${rule}, as in production`,
    );
  }
  if (namespace === undefined) return;
  const problem = namespaceProblem(namespace);
  if (problem !== undefined) yield error(['metadata', 'namespace'], problem);
}

/** Undefined where it is one. */
export function namespaceProblem(namespace: unknown): string | undefined {
  if (typeof namespace === 'string' && namespace.length <= 63 && labelForm.test(namespace)) return undefined;
  return `${JSON.stringify(namespace)} is no namespace; write at most 63 lower-case letters, digits and "-"`;
}

function* checkTexts(field: string, texts: unknown): Generator<Finding> {
  if (texts === undefined || texts === null) return;
  if (!isRecord(texts)) {
    yield error(['metadata', field], 'must be a mapping; write names with texts');
    return;
  }
  for (const [name, value] of Object.entries(texts)) {
    if (!isQualifiedName(field === 'annotations' ? name.toLowerCase() : name)) {
      const message = `${JSON.stringify(name)} is no name of one; write up to 63 letters, digits, "-", "_" and ".", as in team`;
      yield error(['metadata', field, name], message, 'key');
    }
    // An API server takes null for an empty text.
    if (typeof value === 'string' || value === null) continue;
    const message = `must be a text and is ${JSON.stringify(value)}; write it in quotes, as in "${String(value)}"`;
    yield error(['metadata', field, name], message);
  }
}

/** `name` or `prefix/name`, as labels and annotations are called. */
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
      const message = `is about rollouts, and an export has none; write ${known.join(' or ')}, or leave it out`;
      yield { severity: 'warning', path, part: 'key', message };
    } else if (!known.includes(name)) {
      const meant = nearest(name, known) ?? known.join(' or ');
      const message = `logfleet knows no such annotation; did you mean ${meant}?`;
      yield { severity: 'warning', path, part: 'key', message };
    } else if (typeof value === 'string') {
      const message = oddValue(name, value);
      if (message !== undefined) yield { severity: 'warning', path, part: 'value', message };
    }
  }
}

/** What is odd about the value of an annotation of ours: one that will do nothing. */
function oddValue(name: string, value: string): string | undefined {
  switch (name) {
    case ownAnnotationNames.paused:
      if (value === 'true' || value === 'false') return undefined;
      return `only "true" pauses, and this is ${JSON.stringify(value)}; write "true", or delete the annotation`;
    case ownAnnotationNames.approve:
      if (parseApproval(value)) return undefined;
      return `${JSON.stringify(value)} approves nothing; write ROLLOUT/STAGE, as in 3-19.500-1/canary`;
    case ownAnnotationNames.retry:
    case ownAnnotationNames.abort:
      if (parseRolloutRequest(value)) return undefined;
      return `${JSON.stringify(value)} names no rollout; write the id in status.rollout, as in 3-19.500-1`;
    default:
      return undefined;
  }
}

function error(path: readonly string[], message: string, part: 'key' | 'value' = 'value'): Finding {
  return { severity: 'error', path, part, message };
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
