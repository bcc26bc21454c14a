/**
 * Copies the schema of a SearchExport's spec into the CRD of SearchExportSchedule, because a CRD cannot refer to
 * another CRD.
 */
import { stringify } from 'yaml';
import type { StructuralSchema } from '../src/base/structural-schema.ts';
import type { CustomResourceDefinition } from './crd-definition.ts';

/** SearchExport fields that a schedule's template omits, because the schedule sets them for each run. */
const leftOut = ['timeRange', 'ttlSecondsAfterFinished', 'paused'];
/**
 * Title by which the generators recognise the schema of a run's spec. The types and the reference page then refer to
 * the spec of SearchExport instead of repeating it.
 */
export const runSpecTitle = 'RunSpec';
/** TypeScript type of a run's spec, and the import statement that it needs. */
export const runSpecType = `Omit<SearchExportSpec, ${leftOut.map((name) => `'${name}'`).join(' | ')}>`;
export const runSpecImport = "import type { SearchExportSpec } from './search-export.ts';";
/**
 * Matches the `fieldPath` of CEL rules about volumes and PersistentVolumeClaims. These rules are not copied, because
 * the CRD of SearchExportSchedule has its own.
 */
const destinationRules = /^\.destination\.(volume|persistentVolumeClaim)$/;
const claimDescription =
  'PersistentVolumeClaims are not allowed in a schedule, because the operator writes records of completed runs to the destination, but cannot mount a PersistentVolumeClaim.';
const block = /^( *)# BEGIN generated from search-export\.yaml\n[\s\S]*?^ *# END generated\n/m;

/**
 * Returns the CRD of SearchExportSchedule with the current schema of a SearchExport's spec. The schema replaces the
 * text between the comments `BEGIN generated` and `END generated`.
 */
export function withRunTemplate(text: string, searchExport: CustomResourceDefinition): string {
  const spec = searchExport.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'];
  if (!spec?.properties) throw new Error('crds/search-export.yaml: the first version needs a spec');
  const rendered = stringify({ spec: templateOf(spec) }, { lineWidth: 0, aliasDuplicateObjects: false });
  if (!block.test(text))
    throw new Error('crds/search-export-schedule.yaml: the markers around the generated part are missing');
  return text.replace(block, (_, indent: string) => {
    const lines = rendered
      .replace(/, ([^,"]+), or persistentVolumeClaim"/, ', or $1"')
      .trimEnd()
      .split('\n')
      .map((line) => `${indent}${line}\n`);
    return `${indent}# BEGIN generated from search-export.yaml\n${lines.join('')}${indent}# END generated\n`;
  });
}

function templateOf(spec: StructuralSchema): StructuralSchema {
  const properties = Object.entries(spec.properties ?? {}).filter(([name]) => !leftOut.includes(name));
  const rules = changeable(spec)['x-kubernetes-validations']?.filter(
    ({ fieldPath = '' }) => !destinationRules.test(fieldPath),
  );
  return {
    ...changeable(spec),
    ...(rules && { 'x-kubernetes-validations': rules }),
    title: runSpecTitle,
    description:
      'Spec of the SearchExports that the schedule creates, with all fields of a SearchExport except `timeRange`, `paused` and `ttlSecondsAfterFinished`. The field `destination` cannot be changed.',
    required: (spec.required ?? []).filter((name) => !leftOut.includes(name)),
    properties: {
      ...Object.fromEntries(properties.map(([name, member]) => [name, changeable(member)])),
      destination: destinationOf(spec),
    },
  };
}

/** Returns the schema of the field `destination` in the template of a schedule. */
function destinationOf({ properties }: StructuralSchema): StructuralSchema {
  const destination = properties?.['destination'];
  const { persistentVolumeClaim: claim, ...stores } = destination?.properties ?? {};
  if (!destination || !claim) throw new Error('crds/search-export.yaml: spec.destination needs persistentVolumeClaim');
  return {
    ...changeable(destination),
    properties: {
      ...changeable(stores),
      persistentVolumeClaim: { ...changeable(claim), description: claimDescription },
    },
  };
}

/**
 * Copies a schema without the rules that forbid changes. A schedule's template can be changed, because a change affects
 * only future runs.
 */
function changeable<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(changeable) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).flatMap(([name, value]) => {
    if (name !== 'x-kubernetes-validations') return [[name, changeable(value)]];
    const rules = (value as readonly { readonly rule: string }[]).filter(({ rule }) => !/\boldSelf\b/.test(rule));
    return rules.length === 0 ? [] : [[name, rules]];
  });
  return Object.fromEntries(members) as T;
}
