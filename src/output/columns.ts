/**
 * Columns of an export's files and their types: the fields that the user chose, or else all fields that the service documents or describes
 * (section 2.5 of docs/service.md). All files of an export have the same columns.
 */

/** Type of a column. `integer` has 64 bits, because counts can exceed 32 bits. `instant` is milliseconds since the epoch. */
export type ColumnType = 'text' | 'integer' | 'decimal' | 'truth' | 'instant';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** Description of a field by the service (section 2.4 of docs/service.md). */
export interface DescribedField {
  readonly name: string;
  readonly fieldType?: string | undefined;
}

export interface ColumnSet {
  readonly columns: readonly Column[];
  /** Name of the extra column. It holds all members of a row that have no column of their own, as one JSON object. */
  readonly restName: string;
  /** True if the members of a row that have no column of their own are written to the extra column. */
  readonly keepsOthers: boolean;
}

/** Returns the columns for messages. If `chosen` is empty, all fields become columns. */
export function messageColumns(chosen: readonly string[], described: readonly DescribedField[]): ColumnSet {
  return recordColumns(chosen, [...documented, ...described]);
}

/** Returns the columns for records of an aggregation, whose fields the service describes (section 2.6 of docs/service.md). */
export function recordColumns(chosen: readonly string[], known: readonly DescribedField[]): ColumnSet {
  const fields = new Map<string, DescribedField>();
  for (const field of known) if (!fields.has(foldedName(field.name))) fields.set(foldedName(field.name), field);
  const names = chosen.length > 0 ? new Set(chosen) : [...fields.values()].map(({ name }) => name);
  const columns = [...names].map((name) => ({ name, type: columnType(name, fields.get(foldedName(name))?.fieldType) }));
  return { columns, restName: restNameBeside(columns), keepsOthers: chosen.length === 0 };
}

/**
 * Returns a form of a field's name for comparisons. The service spells its own field names in several ways, such as `_messagetime` and
 * `_messageTime`, so their case is ignored.
 */
export function foldedName(name: string): string {
  return /^_[A-Za-z]+$/.test(name) ? name.toLowerCase() : name;
}

function restNameBeside(columns: readonly Column[]): string {
  let name = '_rest';
  while (columns.some((column) => foldedName(column.name) === name)) name = `_${name}`;
  return name;
}

const integers: ReadonlySet<string> = new Set(['long', 'int', 'integer', 'short']);
const decimals: ReadonlySet<string> = new Set(['double', 'float', 'number', 'decimal']);
const truths: ReadonlySet<string> = new Set(['boolean', 'bool']);
/** Names of the fields with times. The service describes these fields as numbers. */
const instants: ReadonlySet<string> = new Set(['_messagetime', '_receipttime', '_timeslice']);

function columnType(name: string, fieldType: string | undefined): ColumnType {
  const type = fieldType?.toLowerCase() ?? 'string';
  if (integers.has(type)) return instants.has(foldedName(name)) ? 'instant' : 'integer';
  if (decimals.has(type)) return 'decimal';
  return truths.has(type) ? 'truth' : 'text';
}

/** Fields that every message can have, with the order and the types of section 2.5 of docs/service.md. */
const documented: readonly DescribedField[] = [
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
