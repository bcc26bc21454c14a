/** Renders docs/reference.md from the CRDs: every field with its type, default, bounds and description, in the order of the CRD. */
import type { StructuralSchema } from '../src/api/structural-schema.ts';
import { type CrdVersion, type CustomResourceDefinition, isWrittenByPeople } from './crd-definition.ts';
import { runSpecTitle } from './run-template.ts';

/** Oldest Kubernetes version in which every API server supports CEL rules and their `fieldPath`. */
const oldestKubernetes = '1.29';

export function renderReference(definitions: readonly CustomResourceDefinition[]): string {
  return `${[
    '# Reference',
    '',
    'This page lists all fields of all kinds of resources. It is generated: change the descriptions in `crds/` and run `make generate`.',
    '',
    `The CRDs need Kubernetes ${oldestKubernetes} or newer, because older versions do not support all of their validation rules (CEL).`,
    '',
    ...[...definitions.filter(isWrittenByPeople), ...definitions.filter((each) => !isWrittenByPeople(each))].flatMap(
      renderKind,
    ),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

function renderKind({ spec: { group, names, versions } }: CustomResourceDefinition): string[] {
  return versions.flatMap((version) => {
    const schema = version.schema.openAPIV3Schema;
    const { spec, status, apiVersion: _, kind: __, metadata: ___, ...others } = schema.properties ?? {};
    return [
      `## ${names.kind}`,
      '',
      `\`${group}/${version.name}\`${names.shortNames ? `, short name \`${names.shortNames.join('`, `')}\`` : ''}`,
      '',
      schema.description ?? '',
      '',
      ...renderColumns(names.plural, version),
      ...(spec ? renderFields('spec', spec) : []),
      ...(status ? renderFields('status', status) : []),
      ...(spec ? [] : renderTable(rowsOf('', { ...schema, properties: others }))),
    ];
  });
}

function renderColumns(resources: string, { additionalPrinterColumns = [] }: CrdVersion): string[] {
  return [
    `\`kubectl get ${resources}\` shows these columns:`,
    '',
    '| column | from | meaning |',
    '| --- | --- | --- |',
    ...additionalPrinterColumns.map(
      ({ name, jsonPath, description }) => `| ${name} | \`${jsonPath}\` | ${cell(description ?? '')} |`,
    ),
    '',
  ];
}

function renderFields(name: string, schema: StructuralSchema): string[] {
  return [`### ${name}`, '', schema.description ?? '', '', ...renderTable(rowsOf(name, schema))];
}

function renderTable(rows: readonly string[]): string[] {
  return ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...rows, ''];
}

function rowsOf(path: string, schema: StructuralSchema): string[] {
  const rows: string[] = [];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const memberPath = path === '' ? name : `${path}.${name}`;
    const fallback = schema.required?.includes(name) ? 'required' : defaultOf(member);
    rows.push(`| \`${memberPath}\` | ${typeOf(member)} | ${fallback} | ${cell(meaningOf(member))} |`);
    if (member.properties && member.title !== runSpecTitle) rows.push(...rowsOf(memberPath, member));
    if (member.items?.properties) rows.push(...rowsOf(`${memberPath}[]`, member.items));
  }
  return rows;
}

/** Returns the default of a field. The defaults in an object are shown at the fields of the object. */
function defaultOf({ default: value }: StructuralSchema): string {
  return value === undefined || typeof value === 'object' ? '' : `\`${value}\``;
}

/**
 * Returns the description of a field, followed by the values and limits of its schema that the description does not
 * name itself.
 */
function meaningOf({
  description = '',
  enum: allowed,
  minimum,
  maximum,
  maxItems,
  maxProperties,
}: StructuralSchema): string {
  const isNamed = (limit: string) => new RegExp(`${limit}(?!\\d)`, 'i').test(description);
  const isRange = minimum !== undefined && maximum !== undefined;
  const areValuesNamed = allowed?.every((value) => description.includes(`\`${value}\``));
  const bounds = [
    allowed && !areValuesNamed && `Possible values: \`${allowed.join('`, `')}\`.`,
    isRange && !isNamed(`from ${minimum} to ${maximum}`) && `Range: ${minimum} to ${maximum}.`,
    maxItems !== undefined && !isNamed(`at most ${maxItems}`) && `The list has at most ${maxItems} items.`,
    maxProperties !== undefined && !isNamed(`at most ${maxProperties}`) && `At most ${maxProperties} keys.`,
  ];
  return [description, ...bounds].filter(Boolean).join(' ');
}

function typeOf(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or percentage';
  if (schema.type === 'array') return `list of ${plural(typeOf(schema.items ?? {}))}`;
  if (schema.additionalProperties) return `map of ${plural(typeOf(schema.additionalProperties))}`;
  if (schema.format === 'date-time') return 'time';
  return schema.type ?? '';
}

const plural = (type: string) => `${type}s`;

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
