/** Schema and defaults of each kind. Without an API server, logfleet sets the defaults itself. */

import type { StructuralSchema } from '../base/structural-schema.ts';
import { collectorVersionPolicySchema } from './generated/collector-version-policy-schema.ts';
import { searchExportScheduleSchema } from './generated/search-export-schedule-schema.ts';
import { searchExportSchema } from './generated/search-export-schema.ts';
import type { KindName } from './kinds.ts';

export const schemas: { readonly [K in KindName]: StructuralSchema } = {
  CollectorVersionPolicy: collectorVersionPolicySchema,
  SearchExport: searchExportSchema,
  SearchExportSchedule: searchExportScheduleSchema,
};

/** Returns a copy of the resource with all defaults set. `null` counts as absent. */
export function applyDefaults<R>(kind: KindName, resource: R): R {
  return withDefaults(schemas[kind], resource) as R;
}

export function withDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item) => withDefaults(items, item)) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const filled: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const memberSchema = schema.properties?.[name] ?? schema.additionalProperties;
    if (memberSchema === undefined) filled[name] = member;
    else if (member !== null) filled[name] = withDefaults(memberSchema, member);
  }
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (member.default === undefined || filled[name] !== undefined) continue;
    filled[name] = withDefaults(member, structuredClone(member.default));
  }
  return filled;
}

/** A resource, or a part of a resource, as users write it in a manifest. All fields may be missing or null. */
export type Written<T> = { readonly [K in keyof T]?: T[K] | null };
