/** Resources as the table of `kubectl get`, as single rows, and as documents for programs. */
import { stringify } from 'yaml';
import type { KindName } from '../../api/kinds.ts';
import type { AnyResource } from '../resources/resource-reader.ts';
import { type PrinterColumn, readPrinterColumns, renderCell } from './printer-columns.ts';
import { renderTable } from './table.ts';

interface TableOptions {
  /** Show columns with a priority above 0, too. */
  readonly wide: boolean;
  readonly withNamespace: boolean;
  readonly nowMs: number;
  /** Width of the window. Undefined without a terminal. */
  readonly width?: number;
}

/** One table for each kind, with an empty line between tables. */
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
  const cells = columnsOf(kind, options.wide).map((column) => renderCell(column, resource, options.nowMs));
  return [...(options.withNamespace ? [metadata.namespace] : []), metadata.name, ...cells];
}

const columnsByKind = new Map<KindName, readonly PrinterColumn[]>();

function columnsOf(kind: KindName, wide: boolean): readonly PrinterColumn[] {
  const columns = columnsByKind.get(kind) ?? readPrinterColumns(kind);
  columnsByKind.set(kind, columns);
  return wide ? columns : columns.filter(({ priority = 0 }) => priority === 0);
}

/** The resource itself if `single`, otherwise a `List`, as in kubectl. Ends with a line break. */
export function renderDocuments(resources: readonly AnyResource[], format: 'json' | 'yaml', single: boolean): string {
  const document = single ? resources[0] : { apiVersion: 'v1', kind: 'List', items: resources };
  return format === 'json' ? `${JSON.stringify(document, undefined, 2)}\n` : renderYaml(document);
}

export function renderYaml(document: unknown): string {
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false });
}
