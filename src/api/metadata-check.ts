/** Checks `apiVersion` and `metadata`, which CRD schemas do not cover. */
import { isRecord, type JsonObject } from '../base/record.ts';
import type { StructuralSchema } from '../base/structural-schema.ts';
import { type Explanation, error, type Finding } from './finding.ts';
import { type KindName, kinds, apiVersion as ownVersion } from './kinds.ts';
import { checkLabels, checkOwnAnnotations, subdomainForm } from './label-check.ts';
import { schemaChecker } from './schema-check.ts';
import { withDefaults } from './schemas.ts';

const labelForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };
const integer = { type: 'integer' };
const time = { type: 'string', format: 'date-time', example: '2026-12-20T00:00:00Z' };
const ownerMembers = ['apiVersion', 'kind', 'name', 'uid'];

/** Schema of `metadata`. It allows fields that API servers write. */
const schema: StructuralSchema = {
  properties: {
    metadata: {
      type: 'object',
      properties: {
        // The schema accepts any `name` and `namespace`, because `checkNames` checks them with better messages.
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

export function checkMetadata(kind: KindName, { apiVersion, metadata }: JsonObject): readonly Finding[] {
  return [...checkApiVersion(apiVersion), ...checkMembers(metadata, kinds[kind].annotations)];
}

function* checkApiVersion(apiVersion: unknown): Generator<Finding> {
  if (apiVersion === ownVersion) return;
  const problem = `this kind has no version ${String(apiVersion)}`;
  yield error(['apiVersion'], 'Unknown', { problem, remedy: `use ${ownVersion}` });
}

function* checkMembers(metadata: unknown, known: readonly string[]): Generator<Finding> {
  if (!isRecord(metadata)) {
    const remedy = 'add, for example, metadata: {name: production}';
    yield error(['metadata'], 'Required', { problem: 'is missing', remedy });
    return;
  }
  yield* checkNames(metadata);
  yield* checkForm(withDefaults(schema, { metadata }));
  yield* checkLabels(['metadata'], metadata);
  yield* checkOwnAnnotations(['metadata'], metadata, known);
}

function* checkNames({ name, generateName, namespace }: JsonObject): Generator<Finding> {
  const rule = 'lower-case letters, digits, "-" and "."';
  if (name === undefined && generateName === undefined) {
    yield error(['metadata', 'name'], 'Required', {
      problem: 'is missing',
      remedy: 'add, for example, name: production',
    });
  } else if (name !== undefined && !(typeof name === 'string' && name.length <= 253 && subdomainForm.test(name))) {
    yield error(['metadata', 'name'], 'Invalid', {
      problem: `${JSON.stringify(name)} is not a name`,
      remedy: `use at most 253 ${rule}, for example production`,
    });
  }
  if (namespace === undefined) return;
  const problem = namespaceProblem(namespace);
  if (problem) yield error(['metadata', 'namespace'], 'Invalid', problem);
}

export function namespaceProblem(namespace: unknown): Explanation | undefined {
  if (typeof namespace === 'string' && namespace.length <= 63 && labelForm.test(namespace)) return undefined;
  const remedy = 'use at most 63 lower-case letters, digits and "-"';
  return { problem: `${JSON.stringify(namespace)} is not a namespace`, remedy };
}
