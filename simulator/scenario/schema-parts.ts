/**
 * Types of values in scenarios, such as durations. Error messages use a type's description to say which values are
 * valid.
 */

export const text = { type: 'string', minLength: 1, description: 'a string' } as const;
export const anyText = { type: 'string', description: 'a string' } as const;
export const flag = { type: 'boolean', description: 'true or false' } as const;
export const count = { type: 'integer', minimum: 0, description: 'a whole number, at least 0' } as const;
export const positive = { type: 'integer', minimum: 1, description: 'a whole number, at least 1' } as const;
export const whole = { type: 'integer', description: 'a whole number' } as const;
export const share = { type: 'number', minimum: 0, maximum: 1, description: 'a number from 0 to 1' } as const;
export const duration = {
  type: 'string',
  format: 'duration',
  description: 'a duration, such as 90s, 3m or 1h30m',
} as const;
export const aboveZero = { type: 'number', exclusiveMinimum: 0, description: 'a number greater than 0' } as const;
export const version = { type: 'string', description: 'a version, such as 19.500-1' } as const;
export const id = {
  anyOf: [
    { type: 'integer', minimum: 1 },
    { type: 'string', pattern: '^[1-9][0-9]{0,18}$' },
  ],
  description: "a positive 64-bit integer, in quotes if above 2^53, such as '9007199254740993'",
} as const;
export const durationRange = {
  anyOf: [duration, { type: 'array', items: duration, minItems: 2, maxItems: 2 }],
  description: 'a duration, such as 3m, or a range of two durations, such as [2m, 4m]',
} as const;

export const oneOf = (...values: readonly string[]) => ({ enum: values, description: `one of ${values.join(', ')}` });
export const listOf = (items: object) => ({ type: 'array', items, description: 'a list' });
export const mapOf = (values: object) => ({
  type: 'object',
  additionalProperties: values,
  description: 'a map keyed by name',
});
export const object = (properties: Readonly<Record<string, object>>, ...required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
  description: `a map with members from this list: ${Object.keys(properties).join(', ')}`,
});
