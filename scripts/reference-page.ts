/** Renders docs/reference.md from the CRDs. The fields of a type that is used several times are listed only once. */
import { pluralOf } from '../src/base/number-text.ts';
import type { StructuralSchema } from '../src/base/structural-schema.ts';
import { type CrdVersion, type CustomResourceDefinition, isWrittenByPeople } from './crd-definition.ts';
import { runSpecTitle } from './run-template.ts';

/** For each type (by title): the path in the reference page at which the fields of the type are listed. */
type ListedTypes = Map<string, string>;

/** Oldest Kubernetes version in which every API server supports CEL rules and their `fieldPath`. */
const oldestKubernetes = '1.29';

export function renderReference(definitions: readonly CustomResourceDefinition[]): string {
  return `${[
    '# Reference',
    '',
    'This page lists all fields of all kinds of resources. The pages about [rollouts](rollouts.md), [exports](exports.md) and [schedules](schedules.md) explain how to use them. In the path of a field, `[]` means each item of a list. `kubectl explain` shows the same descriptions, for example `kubectl explain cvp.spec.target`.',
    '',
    'The page is generated: change the descriptions in `crds/` and run `make generate`.',
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
    const listed: ListedTypes = new Map();
    return [
      `## ${names.kind}`,
      '',
      `\`${group}/${version.name}\`${names.shortNames ? `, short name \`${names.shortNames.join('`, `')}\`` : ''}`,
      '',
      schema.description ?? '',
      '',
      ...renderColumns(names.plural, version),
      ...(spec ? renderFields('spec', spec, listed) : []),
      ...(status ? renderFields('status', status, listed) : []),
      ...(spec ? [] : renderTable(rowsOf('', { ...schema, properties: others }, listed))),
    ];
  });
}

/**
 * Fields that a printer column of a CRD can have. If a description contains a comma but is not in quotes, YAML reads
 * the text after the comma as an unknown field.
 */
const columnKeys = new Set(['name', 'type', 'format', 'description', 'priority', 'jsonPath']);

function renderColumns(resources: string, { additionalPrinterColumns = [] }: CrdVersion): string[] {
  const unknown = additionalPrinterColumns.flatMap((column) => Object.keys(column)).find((key) => !columnKeys.has(key));
  if (unknown !== undefined)
    throw new Error(`A column of ${resources} has the unknown field "${unknown}". Put descriptions in quotes.`);
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

function renderFields(name: string, schema: StructuralSchema, listed: ListedTypes): string[] {
  return [`### ${name}`, '', schema.description ?? '', '', ...renderTable(rowsOf(name, schema, listed))];
}

function renderTable(rows: readonly string[]): string[] {
  return ['| field | type | default | meaning |', '| --- | --- | --- | --- |', ...rows, ''];
}

function rowsOf(path: string, schema: StructuralSchema, listed: ListedTypes): string[] {
  const rows: string[] = [];
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const memberPath = path === '' ? name : `${path}.${name}`;
    const fallback = schema.required?.includes(name) ? 'required' : defaultOf(member);
    const [nested, nestedPath] = member.items ? [member.items, `${memberPath}[]`] : [member, memberPath];
    const { title, properties } = nested;
    const sameAs = title === undefined ? undefined : listed.get(title);
    rows.push(`| \`${memberPath}\` | ${typeOf(member)} | ${fallback} | ${cell(meaningOf(member, sameAs))} |`);
    if (!properties || sameAs !== undefined || title === runSpecTitle) continue;
    if (title !== undefined) listed.set(title, nestedPath);
    rows.push(...rowsOf(nestedPath, nested, listed));
  }
  return rows;
}

/** Returns the default of a field. */
function defaultOf({ default: value }: StructuralSchema): string {
  return value === undefined || typeof value === 'object' ? '' : `\`${value}\``;
}

/**
 * Returns the description of a field. Adds the allowed values and the limits that the description does not mention.
 * @param sameAs path of an earlier field of the same type, where the page already lists the type's fields
 */
function meaningOf(schema: StructuralSchema, sameAs: string | undefined): string {
  const { enum: allowed, minimum, maximum, maxItems, maxProperties } = schema;
  const description = withoutDefault(schema);
  const isNamed = (limit: string) => new RegExp(`${limit}(?!\\d)`, 'i').test(description);
  const isRange = minimum !== undefined && maximum !== undefined;
  const areValuesNamed = allowed?.every((value) => description.includes(`\`${value}\``));
  const additions = [
    allowed && !areValuesNamed && `Possible values: \`${allowed.join('`, `')}\`.`,
    isRange && !isNamed(`from ${minimum} to ${maximum}`) && `Range: ${minimum} to ${maximum}.`,
    maxItems !== undefined && !isNamed(`at most ${maxItems}`) && `The list has at most ${maxItems} items.`,
    maxProperties !== undefined && !isNamed(`at most ${maxProperties}`) && `At most ${maxProperties} keys.`,
    sameAs !== undefined && !description.includes(`fields as \`${sameAs}\``) && `For the fields, see \`${sameAs}\`.`,
  ];
  return [description, ...additions].filter(Boolean).join(' ');
}

function withoutDefault({ description = '', default: value }: StructuralSchema): string {
  return [
    ` Defaults to ${value}.`,
    ` Defaults to \`${value}\`.`,
    ` (default ${value})`,
    ` (default \`${value}\`)`,
  ].reduce((text, statement) => text.replace(statement, ''), description);
}

function typeOf(schema: StructuralSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (schema.type === 'array') return `list of ${pluralOf(typeOf(schema.items ?? {}))}`;
  if (schema.additionalProperties) {
    const types = typeOf(schema.additionalProperties).split(' or ');
    return `map of ${types.map(pluralOf).join(' or ')}`;
  }
  if (schema.format === 'date-time') return 'time';
  return schema.type ?? '';
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
