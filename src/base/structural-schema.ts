/** Types for the OpenAPI schemas of CRDs. */

/** CEL rule that validates a value of a schema (`x-kubernetes-validations`). */
export interface ValidationRule {
  readonly rule: string;
  /** User-facing message for a value that violates the rule. The default message says that the value is not allowed. */
  readonly problem?: string;
  readonly remedy: string;
  /**
   * Path of the wrong field, relative to the validated value, such as `.values`. Defaults to the validated value
   * itself.
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
  /** True if the object may have other fields. */
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** Fields that identify an item of a list. */
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}
