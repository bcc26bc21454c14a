/**
 * Columns of the files of an export: the fields that the user selected, or all known fields. All files of an export
 * have the same columns.
 */

/** Type of a column. `integer` has 64 bits. `instant` is the number of milliseconds since the epoch. */
export type ColumnType = 'text' | 'integer' | 'decimal' | 'truth' | 'instant';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** Field of a search result, as the service describes it (section 2.4 of docs/service.md). */
export interface DescribedField {
  readonly name: string;
  readonly fieldType?: string | undefined;
}

export interface ColumnSet {
  readonly columns: readonly Column[];
  /**
   * Name of the extra column. For each row, this column contains all fields that have no column of their own, as one
   * JSON object.
   */
  readonly restName: string;
  /** True if the fields without a column of their own are stored in an extra column. */
  readonly keepsOthers: boolean;
}

/** Returns the columns for a message export. If `chosen` is empty, every known field becomes a column. */
export function messageColumns(chosen: readonly string[], described: readonly DescribedField[]): ColumnSet {
  return recordColumns(chosen, [...documented, ...described]);
}

/** Returns the columns for an export of records (aggregation results). */
export function recordColumns(chosen: readonly string[], known: readonly DescribedField[]): ColumnSet {
  const fields = new Map<string, DescribedField>();
  for (const field of known) if (!fields.has(foldedName(field.name))) fields.set(foldedName(field.name), field);
  const written = chosen.length > 0 ? chosen : [...fields.values()].map(({ name }) => name);
  const names = [...Map.groupBy(written, foldedName).values()].map(([name = '']) => name);
  const columns = names.map((name) => ({ name, type: columnType(name, fields.get(foldedName(name))?.fieldType) }));
  return { columns, restName: restNameBeside(columns), keepsOthers: chosen.length === 0 };
}

/**
 * Converts the name of one of the service's own fields, such as `_messageTime`, to lower case, because the service
 * spells these names in several ways. Returns other names unchanged.
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
/** Fields that the service describes as numbers, but that contain times. */
const instants: ReadonlySet<string> = new Set(['_messagetime', '_receipttime', '_timeslice']);

function columnType(name: string, fieldType: string | undefined): ColumnType {
  const type = fieldType?.toLowerCase() ?? 'string';
  if (integers.has(type)) return instants.has(foldedName(name)) ? 'instant' : 'integer';
  if (decimals.has(type)) return 'decimal';
  return truths.has(type) ? 'truth' : 'text';
}

/** Fields that any message can have (section 2.5 of docs/service.md). */
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
