/** The schema of each kind. */
import { collectorVersionPolicySchema } from './generated/collector-version-policy-schema.ts';
import { searchExportSchema } from './generated/search-export-schema.ts';
import type { KindName } from './kinds.ts';
import type { StructuralSchema } from './structural-schema.ts';

const schemas: { readonly [K in KindName]: StructuralSchema } = {
  CollectorVersionPolicy: collectorVersionPolicySchema,
  SearchExport: searchExportSchema,
};

/** Returns the schema of a whole resource of this kind. */
export function schemaOf(kind: KindName): StructuralSchema {
  return schemas[kind];
}
