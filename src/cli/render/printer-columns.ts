/**
 * Columns of a kind from its CRD (`additionalPrinterColumns`), so that `logfleet get` and `kubectl get` show the same table. Columns with a
 * priority above 0 are for `-o wide`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { KindName } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import { renderAgeSince } from './age.ts';

export interface PrinterColumn {
  readonly name: string;
  /** `date` columns are shown as ages. */
  readonly type: string;
  /** Path of fields, with filters by one field: `.status.conditions[?(@.type=="Ready")].message`. */
  readonly jsonPath: string;
  readonly priority?: number;
}

interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly additionalPrinterColumns?: readonly PrinterColumn[] }[];
  };
}

const crdFolder = fileURLToPath(new URL('../../../crds/', import.meta.url));

/** Columns of the newest version of the kind, without the name, in the order of the CRD. */
export function readPrinterColumns(kind: KindName): readonly PrinterColumn[] {
  for (const file of readdirSync(crdFolder)) {
    if (!file.endsWith('.yaml')) continue;
    const crd = parse(readFileSync(`${crdFolder}${file}`, 'utf8'), { maxAliasCount: -1 }) as Crd;
    if (crd.spec.names.kind === kind) return crd.spec.versions.at(-1)?.additionalPrinterColumns ?? [];
  }
  assert(false, `crds/ holds no CRD of the kind ${kind}`);
}

/** Cell of one resource. Empty without a value, as in kubectl. */
export function renderCell(column: PrinterColumn, resource: unknown, nowMs: number): string {
  const value = valueAt(column.jsonPath, resource);
  if (column.type === 'date') return renderAgeSince(typeof value === 'string' ? value : undefined, nowMs);
  return value === undefined || value === null ? '' : String(value);
}

const step = /\.([A-Za-z_][\w-]*)|\[\?\(@\.(\w+)\s*==\s*["']([^"']*)["']\)\]/y;

function valueAt(path: string, resource: unknown): unknown {
  step.lastIndex = 0;
  let value = resource;
  while (step.lastIndex < path.length) {
    const match = step.exec(path);
    assert(match, `crds/ has a printer column with the path ${path}, which is not understood here`);
    const [, member, filterMember, filterValue] = match;
    value =
      member === undefined ? found(value, filterMember as string, filterValue as string) : memberOf(value, member);
  }
  return value;
}

function memberOf(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[member] : undefined;
}

function found(value: unknown, member: string, wanted: string): unknown {
  return Array.isArray(value) ? value.find((one) => memberOf(one, member) === wanted) : undefined;
}
