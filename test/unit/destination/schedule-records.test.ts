import { expect, test } from 'vitest';
import { readRunRecord, recordRun, ScheduleLayout } from '../../../src/destination/schedule-records.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';

const layout = ScheduleLayout.of('logging/hourly');
const times = '20261122t120000z-130000z';
const record = {
  ...{ run: 'hourly-1', fromMs: 0, toMs: 100, rows: 1, bytes: 1, complete: true },
  ...{ fingerprint: '1'.repeat(64), manifestSha256: '2'.repeat(64) },
};

test.each([
  ['fingerprint', { fingerprint: '3'.repeat(64) }],
  ['manifest', { manifestSha256: '3'.repeat(64) }],
])('the record of a run is not replaced by a run with another %s', async (_, other) => {
  const destination = new MemoryDestination();
  await recordRun(destination, layout, times, record);
  await recordRun(destination, layout, times, record);
  const replaced = recordRun(destination, layout, times, { ...record, ...other });
  await expect(replaced).rejects.toMatchObject({ code: 'destination.invalid' });
  expect(await readRunRecord(destination, layout, times)).toEqual(record);
});
