/** Reads JSON files that people may have edited. A file is rejected as a whole unless it has the expected fields and types. */
import { Ajv } from 'ajv';

const ajv = new Ajv();

export const text = { type: 'string' } as const;
export const texts = { type: 'array', items: text } as const;
/**
 * JSON schema of a name that Kubernetes allows (RFC 1123). Every file system accepts it as a file name: lower case, no slash, no leading
 * dot.
 */
export const resourceName = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' } as const;

/** Schema of an object with these fields. Fields whose name is in `optional` may be missing. Further fields are allowed. */
export function objectOf(properties: Readonly<Record<string, object>>, optional: readonly string[] = []): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

/**
 * Returns a function that parses JSON text. The function returns undefined if the text is missing, or does not match the schema.
 */
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
