/** Reads JSON files that users might have edited. A file with a wrong field is rejected. */
import { Ajv, type ValidateFunction } from 'ajv';
import { recordOfJson } from '../base/record.ts';

/**
 * Options that halve the time in which ajv compiles a schema. Use them only for logfleet's own schemas, because ajv
 * then does not check the schema itself. Use them only for small values, because the compiled code is slower.
 */
export const quickCompilation = { validateSchema: false, code: { optimize: false } } as const;

const ajv = new Ajv(quickCompilation);

export const textShape = { type: 'string' } as const;
export const textListShape = { type: 'array', items: textShape } as const;
/** Schema of a name that Kubernetes allows (RFC 1123). Such a name is also a valid file name. */
export const resourceName = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' } as const;

/**
 * Returns a JSON schema for an object with these fields. All of these fields are required, except those in `optional`.
 * Additional fields are allowed.
 */
export function objectOf(properties: Readonly<Record<string, object>>, optional: readonly string[] = []): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

/**
 * Returns a parser for JSON text. The parser returns undefined if the text does not match the schema. The first call to
 * the parser compiles the schema.
 */
export function jsonReader<T>(schema: object): (text: string | undefined) => T | undefined {
  let isOfShape: ValidateFunction<T> | undefined;
  return (content = '') => {
    const value = recordOfJson(content);
    isOfShape ??= ajv.compile<T>(schema);
    return isOfShape(value) ? value : undefined;
  };
}
