/**
 * Renders resources as a table, JSON or YAML. The columns are the CRDs' `additionalPrinterColumns`, as in `kubectl
 * get`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { valueAt } from '../../api/json-path.ts';
import { type AnyResource, type KindName, referenceOf } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { inPackage } from '../command/package-folder.ts';
import { renderTable } from './table.ts';
import { renderAgeSince } from './text.ts';

export interface TableOptions {
  /** True if the table includes the columns with a priority above 0, as with `-o wide`. */
  readonly wide: boolean;
  readonly withNamespace: boolean;
  /** True if the kind is shown before each name, as in `cvp/production`. */
  readonly withKind?: boolean;
  readonly nowMs: number;
  /** Width of the terminal in columns. Undefined if the output is not a terminal. */
  readonly width?: number;
}

/** Renders a table for each kind of resource, separated by empty lines. */
export function renderResourceTable(resources: readonly AnyResource[], options: TableOptions): readonly string[] {
  const kindsPresent = [...new Set(resources.map(({ kind }) => kind))];
  return kindsPresent.flatMap((kind, index) => {
    const rows = resources.filter((resource) => resource.kind === kind).map((resource) => cellsOf(resource, options));
    return [...(index === 0 ? [] : ['']), ...renderTable(headingsOf(kind, options), rows, options.width)];
  });
}

export function headingsOf(kind: KindName, options: Pick<TableOptions, 'wide' | 'withNamespace'>): readonly string[] {
  const names = columnsOf(kind, options.wide).map(({ name }) => name);
  return [...(options.withNamespace ? ['Namespace'] : []), 'Name', ...names];
}

export function cellsOf(resource: AnyResource, options: TableOptions): readonly string[] {
  const { metadata, kind } = resource;
  const name = options.withKind ? referenceOf(kind, metadata) : metadata.name;
  const cells = columnsOf(kind, options.wide).map((column) => renderCell(column, resource, options.nowMs));
  return [...(options.withNamespace ? [metadata.namespace] : []), name, ...cells];
}

const columnsByKind = new Map<KindName, readonly PrinterColumn[]>();

function columnsOf(kind: KindName, wide: boolean): readonly PrinterColumn[] {
  const columns = getOrAdd(columnsByKind, kind, () => readPrinterColumns(kind));
  return wide ? columns : columns.filter(({ priority = 0 }) => priority === 0);
}

/** Renders the resource if `single` is true, otherwise a `List`. The output ends with a line break. */
export function renderDocuments(resources: readonly AnyResource[], format: 'json' | 'yaml', single: boolean): string {
  const document = single ? resources[0] : { apiVersion: 'v1', kind: 'List', items: resources };
  return format === 'json' ? `${JSON.stringify(document, undefined, 2)}\n` : renderYaml(document);
}

export function renderYaml(document: unknown): string {
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}

interface PrinterColumn {
  readonly name: string;
  /** Type of the column in the CRD. A `date` is shown as an age. */
  readonly type: string;
  /** JSON path of the column's value, such as `.status.conditions[?(@.type=="Ready")].message`. */
  readonly jsonPath: string;
  readonly priority?: number;
}

interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly additionalPrinterColumns?: readonly PrinterColumn[] }[];
  };
}

const crdFolder = inPackage('crds');

/** Returns the printer columns of the newest version in a CRD. The list does not contain the column NAME. */
export function readPrinterColumns(kind: KindName): readonly PrinterColumn[] {
  for (const file of readdirSync(crdFolder)) {
    if (!file.endsWith('.yaml')) continue;
    const crd = parse(readFileSync(path.join(crdFolder, file), 'utf8'), { maxAliasCount: -1 }) as Crd;
    if (crd.spec.names.kind === kind) return crd.spec.versions.at(-1)?.additionalPrinterColumns ?? [];
  }
  assert(false, `crds/ contains no CRD for the kind ${kind}`);
}

export function renderCell(column: PrinterColumn, resource: unknown, nowMs: number): string {
  const value = columnValue(column.jsonPath, resource);
  if (value === undefined || value === null) return '';
  return column.type === 'date' ? renderAgeSince(String(value), nowMs) : String(value);
}

const step = /\.([A-Za-z_][\w-]*)|\[\?\(@\.(\w+)\s*==\s*["']([^"']*)["']\)\]/g;

function columnValue(path: string, resource: unknown): unknown {
  const steps = [...path.matchAll(step)];
  const isKnown = steps.map(([text]) => text).join('') === path;
  assert(
    isKnown,
    `a printer column in crds/ has the JSON path ${path}, but only paths that consist of names and of filters for one value are supported`,
  );
  return steps.reduce<unknown>((value, [, member, filterMember = '', wanted = '']) => {
    if (member !== undefined) return valueAt(value, [member]);
    return Array.isArray(value) ? value.find((element) => valueAt(element, [filterMember]) === wanted) : undefined;
  }, resource);
}
