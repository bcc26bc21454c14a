/**
 * Which columns the files of an export have, and of which type each is: those chosen, or else the documented fields of messages (2.5)
 * and what the service describes beside them.
 *
 * Invariant: all files of an export have the same columns. So they are found once, before the first row, and what a row has beside
 * them goes into a column for the rest, unless fields were chosen: those are all that somebody wants.
 */

/**
 * What a column holds. `integer` has 64 bits, whatever the service calls it: a count of type `int` can outgrow 32. `instant` is
 * milliseconds since the epoch.
 */
export type ColumnType = 'text' | 'integer' | 'decimal' | 'truth' | 'instant';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** What the service says of a field (2.4). */
export interface DescribedField {
  readonly name: string;
  readonly fieldType: string | undefined;
}

export interface ColumnSet {
  readonly columns: readonly Column[];
  /** Name of the column that holds, as one JSON object, what no other column does. */
  readonly restName: string;
  /** Whether members without a column are wanted, too. */
  readonly keepsOthers: boolean;
}

/** For messages. `chosen` may be empty, which means all. */
export function messageColumns(chosen: readonly string[], described: readonly DescribedField[]): ColumnSet {
  return columnSet(chosen, [...documented, ...described]);
}

/** For records of an aggregation, whose schema (2.6) the service always describes. */
export function recordColumns(chosen: readonly string[], described: readonly DescribedField[]): ColumnSet {
  return columnSet(chosen, described);
}

function columnSet(chosen: readonly string[], known: readonly DescribedField[]): ColumnSet {
  const fields = new Map<string, DescribedField>();
  for (const field of known) if (!fields.has(foldedName(field.name))) fields.set(foldedName(field.name), field);
  const names = chosen.length > 0 ? new Set(chosen) : [...fields.values()].map(({ name }) => name);
  const columns = [...names].map((name) => ({ name, type: columnType(name, fields.get(foldedName(name))?.fieldType) }));
  return { columns, restName: restNameBeside(columns), keepsOthers: chosen.length === 0 };
}

/**
 * The name under which a field is looked for. The service writes the names of its own fields in more than one way, as `_messagetime` and
 * `_messageTime` (10.3); those of others mean what they say.
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
/** Fields of these names are times, and described as numbers. */
const instants: ReadonlySet<string> = new Set(['_messagetime', '_receipttime', '_timeslice']);

function columnType(name: string, fieldType: string | undefined): ColumnType {
  const type = fieldType?.toLowerCase() ?? 'string';
  if (integers.has(type)) return instants.has(foldedName(name)) ? 'instant' : 'integer';
  if (decimals.has(type)) return 'decimal';
  return truths.has(type) ? 'truth' : 'text';
}

/** The fields of a message, in the order and of the types that 2.5 has. */
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
