/**
 * CRD → a module with its schema as data, for defaults and validation: they work wherever logfleet runs, without looking for a
 * file. It holds what they read and no more: no texts for people, and nothing of `status`, which no manifest brings along.
 */
import type { CustomResourceDefinition } from './crd-definition.ts';

export function renderSchema(definition: CustomResourceDefinition, source: string): string {
  const { kind } = definition.spec.names;
  const schema = definition.spec.versions[0]?.schema.openAPIV3Schema;
  if (!schema) throw new Error(`${source}: the first version needs a schema`);
  const name = `${kind[0]?.toLowerCase()}${kind.slice(1)}Schema`;
  const withoutStatus = { ...schema, properties: { ...schema.properties, status: { type: 'object' } } };
  const text = JSON.stringify(withoutStatus, (key, value: unknown) => (isLeftOut(key, value) ? undefined : value), 2);
  return [
    `/** Generated from ${source} by \`make generate\`. Edit that file instead. */`,
    "import type { StructuralSchema } from '../structural-schema.ts';",
    '',
    `export const ${name}: StructuralSchema = ${text};`,
    '',
  ].join('\n');
}

/** A member that is called `description` or `title` itself would hold a schema, not a text. */
function isLeftOut(key: string, value: unknown): boolean {
  if (key === 'description' || key === 'title') return typeof value === 'string';
  return key === 'anyOf' || key === 'x-kubernetes-list-type';
}
