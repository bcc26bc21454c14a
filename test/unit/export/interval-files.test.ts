/** Tests the number of files of one interval, which must not exceed the maximum that a commit record can name. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { maxFiles } from '../../../src/destination/commit-record.ts';
import { Writer } from '../../../src/destination/writer.ts';
import { IntervalFiles } from '../../../src/export/search/interval-files.ts';
import { recordRow } from '../../../src/output/record-row.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { hour, requestOf, taskOf } from './search-world.ts';

test('more files than a record can name are refused, with what to write instead', async () => {
  const destination = new MemoryDestination();
  const task = taskOf({ output: { ...requestOf().output, maxPartBytes: 1 } });
  const writer = new Writer({ pid: 1, processStart: '1', scope: 'test' }, seededRandom(1));
  const files = new IntervalFiles({ destination, task, writer, log: silentLogger }, { segment: 0, ...hour }, []);
  const row = recordRow(new Map([['n', '1']]));
  for (let part = 0; part < maxFiles; part++) {
    files.row(row);
    await files.drained();
  }
  expect(() => files.row(row)).toThrow(
    expect.objectContaining({
      code: 'destination.tooMuch',
      reason: 'InvalidSpec',
      message: expect.stringContaining('raise maxPartSize'),
    }),
  );
  await files.giveUp();
  expect(destination.objects.size + destination.store.uploads.size).toBe(0);
});
