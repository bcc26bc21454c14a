/** Renders a TypeScript module with the schema of a CRD, without descriptions and `status`. */
import type { CustomResourceDefinition } from './crd-definition.ts';

export function renderSchema(definition: CustomResourceDefinition, source: string): string {
  const { kind } = definition.spec.names;
  const schema = definition.spec.versions[0]?.schema.openAPIV3Schema;
  if (!schema) throw new Error(`${source}: the first version needs a schema`);
  const name = `${kind[0]?.toLowerCase()}${kind.slice(1)}Schema`;
  const withoutStatus = { ...schema, properties: { ...schema.properties, status: { type: 'object' } } };
  const rendered = (key: string, value: unknown) => {
    if (isLeftOut(key, value)) return undefined;
    return key === 'x-kubernetes-validations' ? (value as CelRule[]).map(splitMessage) : value;
  };
  const text = JSON.stringify(withoutStatus, rendered, 2);
  return [
    `/** Generated from ${source} by \`make generate\`. Edit that file instead. */`,
    "import type { StructuralSchema } from '../../base/structural-schema.ts';",
    '',
    `export const ${name}: StructuralSchema = ${text};`,
    '',
  ].join('\n');
}

interface CelRule {
  readonly message: string;
}

/** Splits the message of a CEL rule into problem and remedy. A remedy begins with a verb, such as `use` or `set`. */
function splitMessage({ message, ...rule }: CelRule): object {
  const [, problem, remedy] = /^(?:(.+?): )?((?:use|set|also set|leave|create|split|make) .+)$/s.exec(message) ?? [];
  if (remedy === undefined) throw new Error(`no remedy that begins with a known verb: ${message}`);
  return { ...rule, problem, remedy };
}

/**
 * Reports whether the generated module omits a key of the CRD's schema. A field named `description` or `title` is kept,
 * because its value is an object rather than a string.
 */
function isLeftOut(key: string, value: unknown): boolean {
  if (key === 'description' || key === 'title') return typeof value === 'string';
  return ['anyOf', 'x-kubernetes-list-type', 'x-kubernetes-preserve-unknown-fields'].includes(key);
}
