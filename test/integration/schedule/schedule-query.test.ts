/**
 * Tests the query in docs/schedules.md with DuckDB: it counts each row once, even if runs were repeated. docs/exports.md
 * shows how to use the query for a single export.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { every, ScheduleWorld, startMs, textsIn } from './schedule-world.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/schedules.md'), 'utf8');
const [, documented = ''] = /```sql\n(.+?)```/s.exec(page) ?? [];
const exportsPage = readFileSync(join(import.meta.dirname, '../../../docs/exports.md'), 'utf8');
const [, ofOneExport = ''] = /`(SET VARIABLE manifests = [^`]+)`/.exec(exportsPage) ?? [];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'logfleet-query-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function count(sql: string): Promise<number> {
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  const placed = sql.replaceAll('exports/logging/errors', `${folder}/hourly`).replaceAll('exports/logging', folder);
  return Number((await connection.runAndReadAll(placed)).getRows()[0]?.[0]);
}

test('the query counts no row twice that a failed run had already written', async () => {
  const messages = every(minuteMs, startMs, startMs + 2 * hourMs);
  const world = new ScheduleWorld({ messages, scenario: { search: { messageLimit: 20, duration: '30s' } } });
  const output = { format: 'Parquet', compression: 'Zstd', fields: [], maxPartSize: '256Mi', partitionBy: 'Hour' };
  world.add({}, { output, parallelism: 1, activeDeadlineSeconds: 100 });
  world.start();
  expect(await world.until(() => world.status?.gaps?.length === 1, 2 * hourMs)).toBe(true);
  const changed = { output: { ...output, maxPartSize: '128Mi' }, activeDeadlineSeconds: null };
  world.patch({ spec: { template: { spec: changed } } });
  world.retry();
  await world.world.clock.advance(2 * hourMs);
  expect(await world.verify()).toMatchObject({ runs: 3, gaps: [], problems: [] });
  for (const [name, content] of world.store.objects) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  for (const hour of [5, 6]) {
    const fromMs = Date.UTC(2026, 10, 1, hour);
    const sql = documented.replace('2026-11-22', '2026-11-01').replace('hour = 13', `hour = ${hour}`);
    expect(await count(sql)).toBe(textsIn(messages, { fromMs, toMs: fromMs + hourMs }).length);
  }
  const manifest = [...world.store.objects.keys()].find((name) => /-20261101t05.*\/manifest\.json$/.test(name)) ?? '';
  const retained = join(folder, manifest, '../data/dt=2026-11-01/hour=05');
  const [file = ''] = readdirSync(retained);
  copyFileSync(join(retained, file), join(retained, `retained-${file}`));
  const sql = documented.replace(/^SET VARIABLE manifests = .+?;/s, ofOneExport);
  const placed = sql.replace('exports/logging/errors/FINGERPRINT/manifest.json', join(folder, manifest));
  const byHour = placed.replace('2026-11-22', '2026-11-01').replace('hour = 13', 'hour = 5');
  const inHour = { fromMs: Date.UTC(2026, 10, 1, 5), toMs: Date.UTC(2026, 10, 1, 6) };
  expect(await count(byHour)).toBe(textsIn(messages, inHour).length);
  const all = `SELECT count(*) FROM read_parquet('exports/logging/errors-*/*/data/**/*.parquet')`;
  expect(await count(all)).toBeGreaterThan(messages.length);
});
