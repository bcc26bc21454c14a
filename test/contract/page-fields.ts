/** Helpers for reading message fields from result pages in contract tests. */

export interface FieldDescription {
  readonly name: string;
  readonly fieldType: string;
  readonly keyField: boolean;
}

export interface PageMessage {
  readonly map: Readonly<Record<string, string>>;
}

/** Returns the value of a field, ignoring the case of its name. */
export function fieldOf({ map }: PageMessage, name: string): string | undefined {
  const key = name in map ? name : Object.keys(map).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : map[key];
}

/** Fields that every message has, with their types. */
export const messageFields: readonly Pick<FieldDescription, 'name' | 'fieldType'>[] = [
  { name: '_messageid', fieldType: 'long' },
  { name: '_sourceid', fieldType: 'long' },
  { name: '_sourceName', fieldType: 'string' },
  { name: '_sourceHost', fieldType: 'string' },
  { name: '_sourceCategory', fieldType: 'string' },
  { name: '_format', fieldType: 'string' },
  { name: '_size', fieldType: 'long' },
  { name: '_messagetime', fieldType: 'long' },
  { name: '_receipttime', fieldType: 'long' },
  { name: '_messagecount', fieldType: 'int' },
  { name: '_raw', fieldType: 'string' },
  { name: '_source', fieldType: 'string' },
  { name: '_collectorId', fieldType: 'long' },
  { name: '_collector', fieldType: 'string' },
  { name: '_blockid', fieldType: 'long' },
];
