/** Tests a partitioned export to a directory. DuckDB and pyarrow read the exported files. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type CommitRecord, commit } from '../../src/destination/commit-record.ts';
import { coverageOf } from '../../src/destination/coverage.ts';
import { verifyExport } from '../../src/destination/export-verification.ts';
import { manifestOf, writeManifest } from '../../src/destination/manifest.ts';
import { storePlanOnce } from '../../src/destination/plan-object.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import { InOrder } from '../../src/export/search/duplicates.ts';
import type { ExportDefinition } from '../../src/export/search/export-definition.ts';
import { IntervalFiles } from '../../src/export/search/interval-files.ts';
import { RowFilter } from '../../src/export/search/row-filter.ts';
import { definitionOf, plainOutput } from '../support/export-definition.ts';
import { makeVolume, openPlace, type StorePlace } from './place.ts';

const rowsWritten = 1_000_003;
const zone = 'Europe/Berlin';
/** Three days, the second of which has 25 hours. */
const fromMs = Date.parse('2026-10-24T00:00:00+02:00');
const toMs = Date.parse('2026-10-27T00:00:00+01:00');

let place: StorePlace;
let destination: Destination;
beforeEach(async () => {
  place = makeVolume();
  destination = await openPlace(place.data);
});
afterEach(async () => {
  await destination.close();
  place.remove();
});

const definition = definitionOf({
  timeRange: { from: `${fromMs}`, to: `${toMs}`, timeZone: zone },
  output: { ...plainOutput, format: 'Parquet', compression: 'Zstd', partitionBy: 'Hour' },
});

/** Returns the message time in ms of the row at this index. Row 0 is the newest row. */
function timeOf(index: number): number {
  return toMs - 1 - Math.floor((index * (toMs - fromMs)) / rowsWritten);
}

/** Exports the whole range as one interval. */
async function exportAll(definition: ExportDefinition): Promise<CommitRecord> {
  const tools = { destination, definition, writer: await Writer.ours(systemRandom), log: silentLogger };
  const files = new IntervalFiles(tools, { segment: 0, toMs }, []);
  const interval = { fromMs, toMs };
  const duplicates = new InOrder();
  const filter = new RowFilter({
    interval,
    byReceiptTime: false,
    duplicates,
    writtenFromMs: undefined,
    sliceMs: 60_000,
  });
  const receiver = files.receiver(filter);
  filter.beginPage();
  for (let index = 0; index < rowsWritten; index++) {
    const row = { messageTimeMs: timeOf(index), messageId: `${index}`, receiptTimeMs: undefined, size: 1 };
    const map = { _messageid: `${index}`, _messagetime: `${row.messageTimeMs}`, _size: '1', _raw: `message ${index}` };
    receiver.row({ ...row, bytes: Buffer.from(JSON.stringify(map)) });
    await receiver.drained?.();
  }
  const { received, written, outside, left, messages } = filter.figures();
  const figures = { received, written, outside, left, duplicates: 0, figures: messages };
  const count = { rows: rowsWritten, source: 'Job' as const };
  return { segment: 0, fromMs, toMs, ...figures, count, files: await files.end() };
}

async function duckdb(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  return (await connection.runAndReadAll(sql)).getRowObjectsJS();
}

/** Writes the whole export. Returns the folder that contains the data files. */
async function complete(definition: ExportDefinition): Promise<string> {
  const plan = await storePlanOnce(destination, definition.layout, { boundariesMs: [fromMs, toMs] });
  const record = await exportAll(definition);
  expect(await commit(destination, definition.layout, record)).toEqual({ kind: 'committed' });
  await writeManifest(destination, definition.layout, manifestOf(definition.identity, coverageOf(plan, [record])));
  const { directory, root } = place.data as Extract<StorePlace['data'], { kind: 'volume' }>;
  return join(directory, root, definition.layout.data);
}

const python = process.env['LOGFLEET_PYTHON'];

// `LOGFLEET_PYTHON` specifies a Python installation with pyarrow. The test does not install pyarrow, which is a
// download of 55 MB.
if (python !== undefined) {
  test('pyarrow reads only the partitions that a query asks for, and finds equal rows', async () => {
    const folder = await complete(definition);
    for (const [day, hour, start, hours] of [
      ['2026-10-25', 2, '2026-10-25T02:00:00+02:00', 2],
      ['2026-10-26', 23, '2026-10-26T23:00:00+01:00', 1],
    ] as const) {
      const startMs = Date.parse(start);
      const hash = createHash('sha256');
      let rows = 0;
      for (let index = 0; index < rowsWritten; index++) {
        const timeMs = timeOf(index);
        if (timeMs < startMs || timeMs >= startMs + hours * 3_600_000) continue;
        hash.update(`${index} ${timeMs} message ${index}\n`);
        rows++;
      }
      const program = join(import.meta.dirname, 'read-partition.py');
      const found = execFileSync(python, [program, folder, day, `${hour}`], { encoding: 'utf8' });
      expect(JSON.parse(found)).toEqual({ files: 1, rows, sha256: hash.digest('hex') });
    }
  });
}

test('DuckDB reads only the partitions that a query asks for, and every row is in the partition of its hour', async () => {
  const folder = await complete(definition);
  const { differences, rows, files } = await verifyExport(destination, definition.layout);
  expect(differences).toEqual([]);
  // On 25 October, the local hour from 2 to 3 occurs twice. Both of these hours share a partition, so the 73 hours have
  // 72 partitions.
  expect([rows, files]).toEqual([rowsWritten, 72]);

  const data = join(folder, '**', '*.parquet');
  const table = `read_parquet('${data}', hive_partitioning = true)`;
  const expected = Array.from({ length: rowsWritten }, (_, index) => timeOf(index));
  const startMs = Date.parse('2026-10-25T02:00:00+02:00');
  const cases = [
    { where: `dt = '2026-10-25'`, from: '2026-10-25T00:00:00+02:00', to: '2026-10-26T00:00:00+01:00', partitions: 24 },
    { where: `dt = '2026-10-25' AND hour = 2`, from: startMs, to: startMs + 2 * 3_600_000, partitions: 1 },
    { where: `dt = '2026-10-26' AND hour = 23`, from: toMs - 3_600_000, to: toMs, partitions: 1 },
  ];
  for (const { where, from, to, partitions } of cases) {
    const sums = `count(*)::INTEGER AS rows, sum(epoch_ms(_messagetime) - ${fromMs})::DOUBLE AS times`;
    const [found] = await duckdb(`SELECT ${sums} FROM ${table} WHERE ${where}`);
    const [firstMs, endMs] = [from, to].map((each) => (typeof each === 'string' ? Date.parse(each) : each));
    const own = expected.filter((timeMs) => timeMs >= Number(firstMs) && timeMs < Number(endMs));
    expect(found).toEqual({ rows: own.length, times: own.reduce((sum, timeMs) => sum + timeMs - fromMs, 0) });
    const [plan] = await duckdb(`EXPLAIN ANALYZE SELECT _raw FROM ${table} WHERE ${where}`);
    expect(plan?.['explain_value']).toMatch(new RegExp(`Scanning Files: ${partitions}/72\\b`));
  }
});
