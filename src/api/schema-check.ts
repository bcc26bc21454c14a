/**
 * Validates a value against a schema with ajv. Unknown fields are errors: if a misspelt selector were ignored,
 * everything would be selected. This module loads ajv, so import it lazily.
 */
import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv';
import { counted } from '../base/number-text.ts';
import type { StructuralSchema } from '../base/structural-schema.ts';
import { suggestion } from './did-you-mean.ts';
import { error, type Finding, type FindingReason } from './finding.ts';
import { type JsonPath, valueAt } from './json-path.ts';
import { quickCompilation } from './json-shape.ts';

const listMapKeys = 'x-kubernetes-list-map-keys';
const int32Bound = 2 ** 31;
const ajv = new Ajv({
  ...quickCompilation,
  allErrors: true,
  strict: false,
  // With `verbose`, each error contains the invalid value and its schema.
  verbose: true,
  formats: {
    int32: { type: 'number', validate: (value: number) => value >= -int32Bound && value < int32Bound },
    int64: true,
    'date-time': isDateTime,
  },
});
ajv.addKeyword({ keyword: listMapKeys, type: 'array', validate: haveDistinctKeys });

/** Returns a function that finds all errors in a value. The first call to this function compiles the schema. */
export function schemaChecker(schema: StructuralSchema): (value: unknown) => readonly Finding[] {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= ajv.compile(toJsonSchema(schema));
    return validate(value) ? [] : (validate.errors ?? []).flatMap(findingOf);
  };
}

/** Checks that no two items of a list have the same values in the fields that identify an item. */
function haveDistinctKeys(...[keys, items, , place]: Parameters<SchemaValidateFunction>): boolean {
  const errors = [];
  for (const key of keys as readonly string[]) {
    const seen = new Set<unknown>();
    for (const [index, item] of (items as readonly unknown[]).entries()) {
      const value = valueAt(item, [key]);
      const instancePath = `${place?.instancePath}/${index}/${key}`;
      if (value !== undefined && seen.has(value))
        errors.push({ keyword: listMapKeys, instancePath, params: { key, value } });
      seen.add(value);
    }
  }
  (haveDistinctKeys as SchemaValidateFunction).errors = errors;
  return errors.length === 0;
}

const dateTimeForm =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Reports whether a text is an RFC 3339 time whose date exists. */
function isDateTime(text: string): boolean {
  const [, year, month, day] = dateTimeForm.exec(text) ?? [];
  if (day === undefined) return false;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

/**
 * Converts a CRD's schema to JSON Schema. If a schema lists the fields of an object, the result does not allow other
 * fields.
 */
function toJsonSchema(schema: StructuralSchema): object {
  return JSON.parse(JSON.stringify(schema), (_, value: StructuralSchema | null) => {
    if (value?.['x-kubernetes-int-or-string'] === true) return { ...value, type: ['integer', 'string'] };
    const { matchFields, matchExpressions } = value?.properties ?? {};
    if (matchFields && matchExpressions) {
      // The keys of `matchFields` are checked against the keys that are allowed for `matchExpressions`, because a CRD's
      // schema cannot list allowed keys for `matchFields`.
      const propertyNames = matchExpressions.items?.properties?.['key'];
      const properties = { ...value?.properties, matchFields: { ...matchFields, propertyNames } };
      return { ...value, properties, additionalProperties: false };
    }
    const hasFixedFields = value?.type === 'object' && value.properties && !value.additionalProperties;
    return hasFixedFields ? { ...value, additionalProperties: false } : value;
  });
}

const timeRemedy = 'use a date, a time and an offset, for example 2026-12-20T00:00:00Z';

/** Converts an ajv error to a finding. */
function findingOf({ instancePath, params, keyword, message = keyword, ...violated }: ErrorObject): readonly Finding[] {
  const { schema: limit, data: value } = violated;
  const schema = (violated.parentSchema ?? {}) as StructuralSchema;
  const path = pathOf(instancePath);
  const at = (reason: FindingReason, problem: string, remedy: string) => [error(path, reason, { problem, remedy })];
  switch (keyword) {
    case 'additionalProperties':
      return [unknownField(path, String(params['additionalProperty']), Object.keys(schema.properties ?? {}))];
    case 'propertyNames':
      return [unknownField(path, String(params['propertyName']), (limit as StructuralSchema).enum ?? [])];
    case 'required':
      return [missingField(path, String(params['missingProperty']), schema)];
    case 'type':
      return at('WrongType', `must be ${typeName(schema)}, not ${valueName(value)}`, howToType(schema, value, path));
    case listMapKeys: {
      const { key, value: repeated } = params;
      return at('Duplicate', `an earlier item has the same ${key}, ${JSON.stringify(repeated)}`, `use another ${key}`);
    }
    case 'enum':
      // This error is dropped, because ajv reports another error for the same value or key.
      if (typeof value !== 'string' || violated.propertyName !== undefined) return [];
      return at('Invalid', `${valueName(value)} is not allowed`, choice(value, schema.enum ?? []));
    case 'minimum':
      return at('OutOfRange', `${value} is too small`, `use ${limit} or more`);
    case 'maximum':
      return at('OutOfRange', `${value} is too large`, `use ${limit} or less`);
    case 'format':
      if (typeof value !== 'string') return at('OutOfRange', `${value} is out of range`, 'use a smaller number');
      return at('Invalid', `${JSON.stringify(value)} is not a valid time`, timeRemedy);
    case 'minLength':
      if (value !== '') return at('OutOfRange', 'is too short', `use at least ${limit} characters`);
      return at('Required', 'is empty', 'set a value, or leave it out');
    case 'maxLength':
      return at('OutOfRange', 'is too long', `use at most ${limit} characters`);
    case 'minItems':
      return at('Required', 'is empty', `use at least ${counted(Number(limit), 'item')}, or leave the field out`);
    case 'maxItems':
      return at('OutOfRange', `has ${(value as unknown[]).length} items`, `use at most ${limit}`);
    case 'maxProperties':
      return at('OutOfRange', 'has too many fields', `use at most ${limit}`);
    default:
      return at('Invalid', message, 'use a value that the reference page allows');
  }
}

function unknownField(path: JsonPath, name: string, known: readonly string[]): Finding {
  const problem = 'there is no such field';
  return error([...path, name], 'Unknown', { problem, remedy: choice(name, known), subject: 'key' });
}

function missingField(path: JsonPath, name: string, { properties }: StructuralSchema): Finding {
  return error([...path, name], 'Required', { problem: 'is missing', remedy: whatToWrite(name, properties?.[name]) });
}

function choice(written: string, known: readonly string[]): string {
  return suggestion(written, known, `use one of ${known.join(', ')}`);
}

function whatToWrite(name: string, schema: StructuralSchema | undefined): string {
  if (schema?.example !== undefined) return `add, for example, ${name}: ${flowText(schema.example)}`;
  return `set ${name} to ${typeName(schema)}`;
}

function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, member]) => `${name}: ${flowText(member)}`)
      .join(', ')}}`;
  }
  return typeof value === 'string' && /^\w[\w.-]*$/.test(value) ? value : JSON.stringify(value);
}

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
};

function typeName(schema: StructuralSchema | undefined): string {
  if (schema?.['x-kubernetes-int-or-string']) return 'a whole number or a string';
  return typeNames[schema?.type ?? ''] ?? 'a string';
}

function valueName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const type = typeof value;
  return `the ${type} ${JSON.stringify(value)}`;
}

function howToType(schema: StructuralSchema, value: unknown, path: JsonPath): string {
  if (value === null) return 'set a value, or leave the field out';
  const isScalar = typeof value !== 'object';
  switch (schema.type) {
    case 'string':
      return howToText(schema, value);
    case 'boolean':
      return 'use true or false without quotes';
    case 'integer':
      if (typeof value === 'string' && /^\d+$/.test(value)) return `use ${value} without quotes`;
      return String(path.at(-1)).includes('Seconds')
        ? 'use seconds, for example 3600'
        : 'use a whole number, for example 10';
    case 'array':
      return howToList(schema, isScalar ? flowText(value) : undefined);
    case 'object':
      return schema.example === undefined
        ? 'set its fields'
        : `set its fields, for example ${flowText(schema.example)}`;
    default:
      return `use, for example, ${flowText(schema.example ?? schema.default)}`;
  }
}

/**
 * Returns user-facing text that explains how to write a list. The text contains the schema's example or, if there is
 * none, a list with `item`. `item` is the single value that the user wrote instead of a list. It is not used if items
 * must be objects.
 */
function howToList({ example, items }: StructuralSchema, item: string | undefined): string {
  if (example !== undefined) return `use a list, for example ${flowText(example)}`;
  return item === undefined || items?.type === 'object'
    ? 'use a list, with a - before each item'
    : `use a list, for example [${item}]`;
}

function howToText({ example, default: fallback, enum: choices }: StructuralSchema, value: unknown): string {
  if (choices !== undefined) return `use ${choices.join(' or ')}`;
  const model = example ?? fallback;
  if (typeof value === 'object')
    return model === undefined ? 'use one string' : `use a string, for example ${flowText(model)}`;
  return model === undefined ? 'put it in quotes' : `use a string in quotes, for example ${JSON.stringify(model)}`;
}

function pathOf(pointer: string): JsonPath {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return /^\d+$/.test(name) ? Number(name) : name;
  });
}
