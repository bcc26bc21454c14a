/**
 * Fills in the defaults of a kind's schema, like an API server. Hosts without an API server apply it to every manifest, so
 * reconcilers get the same input on all hosts.
 *
 * Does not validate: that is the task of `validation.ts`.
 */
import type { KindName } from './kinds.ts';
import { schemaOf } from './schemas.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Returns a copy of the resource with all defaults filled in. A member that is `null` counts as absent, even if it has no default.
 */
export function applyDefaults<R>(kind: KindName, resource: R): R {
  return withDefaults(schemaOf(kind), resource) as R;
}

function withDefaults(schema: StructuralSchema, value: unknown): unknown {
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
