/**
 * Checks `apiVersion` and `metadata` of a resource, which CRD schemas leave to the API server: names, labels, annotations. Also
 * checks that logfleet's own annotations have values with an effect.
 */
import { isRecord } from '../base/record.ts';
import { annotations as ownAnnotationNames, parseApproval, parseRolloutRequest } from './annotations.ts';
import { suggestion } from './did-you-mean.ts';
import { type Explanation, error, type Finding, warning } from './finding.ts';
import { apiGroup, apiVersionName, type KindName, kinds } from './kinds.ts';
import { schemaChecker } from './schema-check.ts';
import { withDefaults } from './schemas.ts';
import type { StructuralSchema } from './structural-schema.ts';

const subdomainForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelValueForm = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };
const integer = { type: 'integer' };
const time = { type: 'string', format: 'date-time', example: '2026-12-20T00:00:00Z' };
const ownerMembers = ['apiVersion', 'kind', 'name', 'uid'];

/** Schema of `metadata`, with the members that only API servers write, since a manifest can come from a cluster. */
const schema: StructuralSchema = {
  properties: {
    metadata: {
      type: 'object',
      properties: {
        // The names of the resource are checked by `checkNames`.
        ...{ name: {}, generateName: text, namespace: {}, labels: texts, annotations: texts },
        finalizers: { type: 'array', items: text },
        ownerReferences: {
          type: 'array',
          items: {
            type: 'object',
            required: ownerMembers,
            properties: Object.fromEntries(ownerMembers.map((name) => [name, { ...text, minLength: 1 }])),
            additionalProperties: {},
          },
        },
        ...{ uid: text, resourceVersion: text, generation: integer },
        ...{ creationTimestamp: time, deletionTimestamp: time, deletionGracePeriodSeconds: integer },
        managedFields: { type: 'array', items: { type: 'object' } },
        selfLink: text,
      },
    },
  },
};
const checkForm = schemaChecker(schema);
const ownAnnotations: readonly string[] = Object.values(ownAnnotationNames);

type Members = Readonly<Record<string, unknown>>;

export function checkMetadata(kind: KindName, { apiVersion, metadata }: Members): readonly Finding[] {
  return [...checkApiVersion(apiVersion), ...checkMembers(metadata, kinds[kind].annotations)];
}

function* checkApiVersion(apiVersion: unknown): Generator<Finding> {
  const known = `${apiGroup}/${apiVersionName}`;
  if (apiVersion === known) return;
  const problem = `this kind has no version ${String(apiVersion)}`;
  yield error(['apiVersion'], 'Unknown', { problem, remedy: `write ${known}` });
}

function* checkMembers(metadata: unknown, known: readonly string[]): Generator<Finding> {
  if (!isRecord(metadata)) {
    const remedy = 'write it, as in metadata: {name: production}';
    yield error(['metadata'], 'Required', { problem: 'is missing', remedy });
    return;
  }
  const labels = isRecord(metadata['labels']) ? metadata['labels'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  yield* checkNames(metadata);
  yield* checkForm(withDefaults(schema, { metadata }));
  yield* checkSize(annotations);
  yield* checkNamesIn('labels', labels);
  yield* checkNamesIn('annotations', annotations);
  yield* checkLabelValues(labels);
  yield* checkOwnAnnotations(annotations, known);
}

function* checkNames({ name, generateName, namespace }: Members): Generator<Finding> {
  const rule = 'lower-case letters, digits, "-" and "."';
  if (name === undefined && generateName === undefined) {
    yield error(['metadata', 'name'], 'Required', {
      problem: 'is missing',
      remedy: 'write it, as in name: production',
    });
  } else if (name !== undefined && !(typeof name === 'string' && name.length <= 253 && subdomainForm.test(name))) {
    yield error(['metadata', 'name'], 'Invalid', {
      problem: `${JSON.stringify(name)} is not a name`,
      remedy: `write at most 253 ${rule}, as in production`,
    });
  }
  if (namespace === undefined) return;
  const problem = namespaceProblem(namespace);
  if (problem) yield error(['metadata', 'namespace'], 'Invalid', problem);
}

/** Returns the problem of an invalid namespace, or undefined. */
export function namespaceProblem(namespace: unknown): Explanation | undefined {
  if (typeof namespace === 'string' && namespace.length <= 63 && labelForm.test(namespace)) return undefined;
  const remedy = 'write at most 63 lower-case letters, digits and "-"';
  return { problem: `${JSON.stringify(namespace)} is not a namespace`, remedy };
}

/** Maximum size of all annotations of a resource, names included, in bytes of UTF-8. */
const maxAnnotationBytes = 262_144;

function* checkSize(annotations: Members): Generator<Finding> {
  const bytes = Object.entries(annotations).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  if (bytes <= maxAnnotationBytes) return;
  yield error(['metadata', 'annotations'], 'OutOfRange', {
    problem: `have ${bytes} bytes`,
    remedy: `write at most ${maxAnnotationBytes} bytes in total`,
  });
}

/** Checks the names of labels or annotations. */
function* checkNamesIn(field: 'labels' | 'annotations', texts: Members): Generator<Finding> {
  for (const name of Object.keys(texts)) {
    if (isQualifiedName(field === 'annotations' ? name.toLowerCase() : name)) continue;
    yield error(['metadata', field, name], 'Invalid', {
      problem: `${JSON.stringify(name)} is not a valid name`,
      remedy: 'write up to 63 letters, digits, "-", "_" and ".", as in team',
      part: 'key',
    });
  }
}

function* checkLabelValues(labels: Members): Generator<Finding> {
  for (const [name, value] of Object.entries(labels)) {
    if (typeof value !== 'string' || labelValueForm.test(value)) continue;
    yield error(['metadata', 'labels', name], 'Invalid', {
      problem: 'is not a label value',
      remedy: 'write up to 63 letters, digits, "-", "_" and ".", or make it an annotation',
    });
  }
}

/** Returns whether a text is `name` or `prefix/name`, the form of label and annotation names. */
function isQualifiedName(text: string): boolean {
  const [name = '', prefix, ...others] = text.split('/').reverse();
  if (others.length > 0 || !/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && subdomainForm.test(prefix));
}

function* checkOwnAnnotations(annotations: Members, known: readonly string[]): Generator<Finding> {
  for (const [name, value] of Object.entries(annotations)) {
    if (!name.startsWith(`${apiGroup}/`)) continue;
    const path = ['metadata', 'annotations', name];
    if (ownAnnotations.includes(name) && !known.includes(name)) {
      yield warning(path, 'NoEffect', {
        problem: 'applies only to rollouts of policies',
        remedy: `write ${known.join(' or ')}, or leave it out`,
        part: 'key',
      });
    } else if (!known.includes(name)) {
      const remedy = suggestion(name, known, `write ${known.join(' or ')}`);
      yield warning(path, 'Unknown', { problem: 'logfleet has no such annotation', remedy, part: 'key' });
    } else if (typeof value === 'string') {
      const ineffective = ineffectiveValue(name, value);
      if (ineffective) yield warning(path, 'NoEffect', ineffective);
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
