/** Fields of a CustomResourceDefinition that the generators read. */
import type { StructuralSchema } from '../src/base/structural-schema.ts';

export interface CrdColumn {
  readonly name: string;
  readonly jsonPath: string;
  readonly description?: string;
}

export interface CrdVersion {
  readonly name: string;
  readonly additionalPrinterColumns?: readonly CrdColumn[];
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
}

export interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly CrdVersion[];
  };
}

/** Reports whether users write resources of this kind. Only the operator writes Ledgers, so their CRD has no `spec`. */
export function isWrittenByPeople({ spec: { versions } }: CustomResourceDefinition): boolean {
  return versions.some(({ schema }) => schema.openAPIV3Schema.properties?.['spec'] !== undefined);
}
