/**
 * Fills in the defaults of a kind's schema, as an API server does when it reads a resource. A host that has no API server behind
 * it passes every manifest through here, so that reconcilers see the same on both.
 *
 * Leaves everything else as it is: what is wrong with a resource is for `validation.ts` to say.
 */
import type { KindName } from './kinds.ts';
import { type StructuralSchema, schemaOf } from './structural-schema.ts';

/**
 * A copy of the resource in which no member with a default is absent. A member that is `null` counts as absent, with a default or
 * without one.
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
