/** Types for the schemas of the CRDs, and the schema of each kind. */

/** CEL rule (`x-kubernetes-validations`) that applies to the value which the surrounding schema describes. */
export interface ValidationRule {
  readonly rule: string;
  /** Description of what is wrong with a value that breaks the rule. Undefined if the value itself makes this clear. */
  readonly problem?: string;
  readonly remedy: string;
  /**
   * Path of the field that is named in errors about this rule, such as `.values`. If absent, errors name the value to which the
   * rule applies.
   */
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
  /**
   * True if the object may have fields that the schema does not list. Only CRDs contain this property; the generated schemas omit
   * it.
   */
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** Fields that identify an item of a list. No two items of the list may have the same values in these fields. */
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}
