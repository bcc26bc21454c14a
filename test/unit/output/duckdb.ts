/** Reads exported files with DuckDB, so that logfleet's output is not checked with logfleet's own code. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export type TableRow = Readonly<Record<string, unknown>>;

/** Reads the cells of a CSV file as text. Empty cells become ''. */
export function readCsv(file: string): Promise<TableRow[]> {
  const options = `header = true, all_varchar = true, delim = ',', quote = '"', escape = '"', new_line = '\\r\\n'`;
  return query(Buffer.from(file), (place) => `SELECT coalesce(COLUMNS(*), '') FROM read_csv('${place}', ${options})`);
}

export function readParquet(file: Buffer): Promise<TableRow[]> {
  return query(file, (place) => `SELECT * FROM read_parquet('${place}')`);
}

export async function describeParquet(file: Buffer): Promise<Record<string, unknown>> {
  const columns = await query(file, (place) => `DESCRIBE SELECT * FROM read_parquet('${place}')`);
  return Object.fromEntries(columns.map((column) => [column['column_name'], column['column_type']]));
}

/** A single DuckDB instance for all reads, because starting it takes longer than a read. */
let connection: Promise<DuckDBConnection> | undefined;

export async function query(file: Buffer, sql: (place: string) => string): Promise<TableRow[]> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-read-'));
  try {
    const place = path.join(directory, 'file');
    writeFileSync(place, file);
    connection ??= connect();
    const reader = await (await connection).runAndReadAll(sql(place));
    return reader.getRowObjectsJS() as TableRow[];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function connect(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const made = await instance.connect();
  await made.run("SET TimeZone = 'UTC'");
  return made;
}
