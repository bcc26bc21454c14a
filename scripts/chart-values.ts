/** Renders the table of values in the Helm chart's README, from `values.schema.json` and `values.yaml`. */

interface ValueSchema {
  readonly description: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  /** Example values. If an object has examples, the documentation does not list the object's members. */
  readonly examples?: readonly unknown[];
}

const start = '<!-- Table of values: written by `make generate`. -->\n';
const end = '<!-- End of the table. -->';

/**
 * Returns the chart's README with an updated table of values. Throws if the README lacks the comments before and after
 * the table.
 */
export function withValuesTable(readme: string, schema: ValueSchema, defaults: object): string {
  const [before, rest] = readme.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the chart's README lacks "${start.trim()}" or "${end.trim()}"`);
  const { enabled: _, global: __, ...properties } = schema.properties ?? {};
  const table = ['| value | default | description |', '| --- | --- | --- |', ...rowsOf(properties, defaults)];
  return `${before}${start}\n${table.join('\n')}\n\n${end}${after}`;
}

function rowsOf(
  properties: Readonly<Record<string, ValueSchema>>,
  defaults: object,
  path: readonly string[] = [],
): readonly string[] {
  return Object.entries(properties).flatMap(([name, { description, properties: members, examples }]) => {
    const value = (defaults as Readonly<Record<string, unknown>>)[name];
    if (members && !examples) return rowsOf(members, value as object, [...path, name]);
    const shown = value === '' ? '' : `\`${JSON.stringify(value)}\``;
    return [`| \`${[...path, name].join('.')}\` | ${shown} | ${description} |`];
  });
}
