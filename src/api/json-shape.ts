/** Reads JSON of a known shape from files that people may have edited. A text of another shape is rejected as a whole. */
import { Ajv } from 'ajv';

const ajv = new Ajv();

export const text = { type: 'string' } as const;
export const texts = { type: 'array', items: text } as const;
/**
 * JSON schema of a name that Kubernetes allows (RFC 1123). Every file system accepts it as a file name: lower case, no slash, no leading
 * dot.
 */
export const resourceName = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' } as const;

/** Schema of an object with these members. Other members are allowed. Members whose name is in `optional` may be missing. */
export function objectOf(properties: Readonly<Record<string, object>>, optional: readonly string[] = []): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

/** Returns a function that parses JSON text. The function returns undefined for a missing text and for a text of another shape. */
export function jsonReader<T>(schema: object): (text: string | undefined) => T | undefined {
  const isOfShape = ajv.compile<T>(schema);
  return (content) => {
    if (content === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(content);
      return isOfShape(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };
}
