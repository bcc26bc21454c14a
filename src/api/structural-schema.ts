/** The schemas of CRDs as far as logfleet's own use them, and where a kind's is found. Knows nothing of how they are checked. */
import { collectorVersionPolicySchema } from './generated/collector-version-policy-schema.ts';
import { searchExportSchema } from './generated/search-export-schema.ts';
import type { KindName } from './kinds.ts';

/** A rule in CEL about the value of its schema (`x-kubernetes-validations`). */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  /** The member that is to blame, as in `.values`; without it, the value itself. */
  readonly fieldPath?: string;
}

export interface StructuralSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  /** Members by which the items of a list are told apart: no two have the same. */
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

const schemas: { readonly [K in KindName]: StructuralSchema } = {
  CollectorVersionPolicy: collectorVersionPolicySchema,
  SearchExport: searchExportSchema,
};

/** The schema of a whole resource of this kind. */
export function schemaOf(kind: KindName): StructuralSchema {
  return schemas[kind];
}
