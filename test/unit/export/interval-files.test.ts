/** Tests the files of one interval: their partition folders, and their maximum number. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { maxFiles } from '../../../src/destination/commit-record.ts';
import { partitionOf } from '../../../src/destination/export-layout.ts';
import { InOrder } from '../../../src/export/search/duplicates.ts';
import { IntervalFiles } from '../../../src/export/search/interval-files.ts';
import { RowFilter } from '../../../src/export/search/row-filter.ts';
import { recordRow } from '../../../src/output/record-row.ts';
import { definitionOf, plainOutput } from '../../support/export-definition.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { testWriter } from '../../support/memory-exports.ts';
import { evenly, hour, hourRequest, SearchWorld, startMs } from './search-world.ts';

test('more files than a record can name are refused, with what to write instead', async () => {
  const destination = new MemoryDestination();
  const definition = definitionOf({ output: { ...plainOutput, maxPartBytes: 1 } });
  const writer = testWriter();
  const files = new IntervalFiles({ destination, definition, writer, log: silentLogger }, { segment: 0, ...hour }, []);
  const row = recordRow(new Map([['n', '1']]));
  for (let part = 0; part < maxFiles; part++) {
    files.row(row);
    await files.drained();
  }
  expect(() => files.row(row)).toThrow(
    expect.objectContaining({
      code: 'destination.tooMuch',
      reason: 'InvalidSpec',
      message: expect.stringContaining('create another export with a larger maxPartSize'),
    }),
  );
  await files.giveUp();
  expect(destination.objects.size + destination.store.uploads.size).toBe(0);
});

const late = (index: number) => startMs - 1 - ((index * 7_919_000) % hourMs);
const crossing = evenly(600).map((message, index) => ({
  ...message,
  at: message.at - (index % 60 === 0 ? 5 * 60_000 : 0),
  received: late(index),
}));

test.each([
  [false, 'at'],
  [true, 'received'],
] as const)('with byReceiptTime %s, rows go to the partition of their time (%s)', async (byReceiptTime, member) => {
  const { output, timeRange } = hourRequest;
  const zone = { ...timeRange, timeZone: 'Asia/Kolkata' };
  const request = { byReceiptTime, timeRange: zone, output: { ...output, partitionBy: 'Hour' } } as const;
  const messages = crossing.toSorted((left, right) => right.at - left.at).filter(({ at }) => at >= hour.fromMs);
  const world = new SearchWorld({ messages, request });
  const record = await world.committed();
  expect(await world.complaints(record)).toEqual([]);
  const folders = record.files.map(({ name }) => partitionOf(name)).sort();
  expect(folders).toEqual(['dt=2026-11-01/hour=04', 'dt=2026-11-01/hour=05']);
  for (const file of record.files) {
    const isLast = file.name.includes('hour=05');
    const own = messages.filter((message) => message[member] >= startMs - hourMs / 2 === isLast);
    const rows = world.rows({ ...record, files: [file] });
    expect(rows.map((row) => row['_raw']).sort()).toEqual(own.map(({ raw }) => raw).sort());
  }
});

// An export by message time has at most two open files, so a row from a third hour closes the first file. An export by
// receipt time can have eight open files.
test.each([
  [false, [1, 1, 1, 1]],
  [true, [2, 1, 1]],
] as const)('with byReceiptTime %s, rows of alternating hours make files of %j rows', async (byReceiptTime, rows) => {
  const definition = definitionOf({ byReceiptTime, output: { ...plainOutput, partitionBy: 'Hour' } });
  const writer = testWriter();
  const tools = { destination: new MemoryDestination(), definition, writer, log: silentLogger };
  const interval = { fromMs: startMs - 3 * hourMs, toMs: startMs };
  const files = new IntervalFiles(tools, { segment: 0, ...interval }, []);
  const duplicates = new InOrder();
  const filter = new RowFilter({ interval, byReceiptTime, duplicates, writtenFromMs: undefined, sliceMs: hourMs });
  const receiver = files.receiver(filter);
  filter.beginPage();
  for (const [index, hoursAgo] of [1, 2, 3, 1].entries()) {
    const timeMs = startMs - hoursAgo * hourMs;
    const { bytes } = recordRow(new Map([['n', `${index}`]]));
    receiver.row({ messageTimeMs: timeMs, receiptTimeMs: timeMs, messageId: `${index}`, size: 1, bytes });
  }
  expect((await files.end()).map((file) => file.rows)).toEqual(rows);
});
