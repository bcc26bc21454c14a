/** Reads the rows of exported files without using logfleet code. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { recordText } from './expected-records.ts';

export async function rowsOfFiles(
  objects: ReadonlyMap<string, Uint8Array>,
  results: 'Messages' | 'Records',
): Promise<Map<string, readonly string[]>> {
  const textOf = results === 'Messages' ? rowText : recordText;
  const rows = new Map<string, readonly string[]>();
  for (const [name, content] of objects) {
    if (name.includes('/data/')) rows.set(name, await rowsIn(name, content, textOf));
  }
  return rows;
}

/** Returns the rows of a file, or a single row with the error message if the file cannot be read. */
async function rowsIn(name: string, content: Uint8Array, textOf: (row: FileRow) => string): Promise<readonly string[]> {
  try {
    return (await membersOf(name, content)).map(textOf);
  } catch (error) {
    return [`unreadable file: ${String(error)}`];
  }
}

type FileRow = Readonly<Record<string, unknown>>;

export function messageText(id: string, raw: string): string {
  return `${id} ${raw}`;
}

function rowText(row: FileRow): string {
  return messageText(String(row['_messageid'] ?? row['_messageId'] ?? ''), String(row['_raw'] ?? ''));
}

async function membersOf(name: string, content: Uint8Array): Promise<readonly FileRow[]> {
  const format = name.slice(name.lastIndexOf('.') + 1);
  const inner = name.slice(0, name.lastIndexOf('.'));
  switch (format) {
    case 'gz':
      return membersOf(inner, gunzipSync(content));
    case 'zst':
      return membersOf(inner, zstdDecompressSync(content));
    case 'ndjson':
      return linesOf(content).map((line) => JSON.parse(line) as FileRow);
    case 'csv':
      return csvRows(linesOf(content));
    case 'parquet':
      return parquetReadObjects({ file: new Uint8Array(content).buffer, compressors });
    default:
      throw new Error(`no reader supports ${name}`);
  }
}

const compressors = {
  GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
  ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes),
};

function linesOf(content: Uint8Array): string[] {
  return Buffer.from(content).toString().split(/\r?\n/).slice(0, -1);
}

/**
 * Splits CSV lines at commas. Cells are never quoted, because the simulated messages contain no commas, quotes or line
 * breaks.
 */
function csvRows([header = '', ...lines]: readonly string[]): readonly FileRow[] {
  const names = header.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    if (line.includes('"') || cells.length !== names.length) throw new Error(`not a row of the simulation: ${line}`);
    return Object.fromEntries(names.map((name, column) => [name, cells[column]]));
  });
}
