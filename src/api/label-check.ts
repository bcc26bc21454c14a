/** Checks labels and annotations, which CRD schemas do not cover. */
import { isRecord, type JsonObject } from '../base/record.ts';
import { annotations as ownAnnotationNames, parseApproval, parseRolloutRequest } from './annotations.ts';
import { suggestion } from './did-you-mean.ts';
import { type Explanation, error, type Finding, warning } from './finding.ts';
import type { JsonPath } from './json-path.ts';
import { apiGroup, type KindName, kinds } from './kinds.ts';

export const subdomainForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelValueForm = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const ownAnnotations: readonly string[] = Object.values(ownAnnotationNames);

/**
 * Checks labels and annotations that logfleet copies to new resources. Without this check, users would learn of an
 * error only when the API server rejects a new resource.
 *
 * @param path path of the field with `labels` and `annotations`
 * @param kind kind of the created resources; undefined if it is not a kind of logfleet
 */
export function* checkCopiedMetadata(path: JsonPath, metadata: unknown, kind?: KindName): Generator<Finding> {
  if (!isRecord(metadata)) return;
  yield* checkLabels(path, metadata);
  if (kind) yield* checkOwnAnnotations(path, metadata, kinds[kind].annotations);
}

export function* checkLabels(path: JsonPath, metadata: JsonObject): Generator<Finding> {
  const [labels, annotations] = [membersOf(metadata['labels']), membersOf(metadata['annotations'])];
  yield* checkSize([...path, 'annotations'], annotations);
  yield* checkNamesIn([...path, 'labels'], labels, (name) => name);
  yield* checkNamesIn([...path, 'annotations'], annotations, (name) => name.toLowerCase());
  yield* checkLabelValues([...path, 'labels'], labels);
}

function membersOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

/** Maximum total size, in bytes, of all annotations including their names. */
const maxAnnotationBytes = 262_144;

function* checkSize(path: JsonPath, annotations: JsonObject): Generator<Finding> {
  const bytes = Object.entries(annotations).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  if (bytes <= maxAnnotationBytes) return;
  yield error(path, 'OutOfRange', {
    problem: `have ${bytes} bytes`,
    remedy: `use at most ${maxAnnotationBytes} bytes in total`,
  });
}

/**
 * Checks the names of labels or annotations. `normalized` converts each name before the check, for example to lower
 * case.
 */
function* checkNamesIn(path: JsonPath, texts: JsonObject, normalized: (name: string) => string): Generator<Finding> {
  for (const name of Object.keys(texts)) {
    if (isQualifiedName(normalized(name))) continue;
    yield error([...path, name], 'Invalid', {
      problem: `${JSON.stringify(name)} is not a valid name`,
      remedy: 'use up to 63 letters, digits, "-", "_" and ".", for example team',
      subject: 'key',
    });
  }
}

function* checkLabelValues(path: JsonPath, labels: JsonObject): Generator<Finding> {
  for (const [name, value] of Object.entries(labels)) {
    if (typeof value !== 'string' || labelValueForm.test(value)) continue;
    yield error([...path, name], 'Invalid', {
      problem: 'is not a label value',
      remedy: 'use up to 63 letters, digits, "-", "_" and ".", or use an annotation instead',
    });
  }
}

/** Reports whether a text has the form `name` or `prefix/name`. */
function isQualifiedName(text: string): boolean {
  const [name = '', prefix, ...others] = text.split('/').reverse();
  if (others.length > 0 || !/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && subdomainForm.test(prefix));
}

/**
 * Checks annotations with logfleet's prefix. Warns if an annotation is unknown, does not apply to this kind, or has no
 * effect.
 */
export function* checkOwnAnnotations(of: JsonPath, metadata: JsonObject, known: readonly string[]): Generator<Finding> {
  for (const [name, value] of Object.entries(membersOf(metadata['annotations']))) {
    if (!name.startsWith(`${apiGroup}/`)) continue;
    const path = [...of, 'annotations', name];
    if (ownAnnotations.includes(name) && !known.includes(name)) {
      yield warning(path, 'NoEffect', {
        problem: 'applies only to rollouts of policies',
        remedy: `use ${known.join(' or ')}, or leave it out`,
        subject: 'key',
      });
    } else if (!known.includes(name)) {
      const remedy = suggestion(name, known, `use ${known.join(' or ')}`);
      yield warning(path, 'Unknown', { problem: 'logfleet has no such annotation', remedy, subject: 'key' });
    } else if (typeof value === 'string') {
      const ineffective = ineffectiveValue(name, value);
      if (ineffective) yield warning(path, 'NoEffect', ineffective);
    }
  }
}

/** Explains why an annotation with this value has no effect. Returns undefined if the value has an effect. */
function ineffectiveValue(name: string, value: string): Explanation | undefined {
  const shown = JSON.stringify(value);
  switch (name) {
    case ownAnnotationNames.paused:
      if (value === 'true' || value === 'false') return undefined;
      return {
        problem: `only the value "true" pauses the resource; ${shown} has no effect`,
        remedy: 'use "true", or delete the annotation',
      };
    case ownAnnotationNames.approve:
      if (parseApproval(value)) return undefined;
      return { problem: `${shown} approves nothing`, remedy: 'use ROLLOUT/STAGE, for example 3-19.500-1/canary' };
    case ownAnnotationNames.retry:
    case ownAnnotationNames.abort:
      if (parseRolloutRequest(value)) return undefined;
      return { problem: `${shown} names no rollout`, remedy: 'use the id in status.rollout, for example 3-19.500-1' };
    default:
      return undefined;
  }
}
