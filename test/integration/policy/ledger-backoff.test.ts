/** Tests that a failed write to the ledger is retried with increasing delays. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { staged } from './staged-world.ts';

test('failed writes to a ledger are repeated with increasing delays', async () => {
  const { world, tasks } = staged({ count: 40, stages: [] });
  let writes = 0;
  world.api.onRequest = ({ collection, method }) => {
    if (!collection.endsWith('/ledgers') || method === 'GET') return undefined;
    writes++;
    return { kind: 'status', status: 500, when: 'before' };
  };
  world.start();
  await world.clock.advance(minuteMs);
  expect(tasks()).toEqual([]);
  expect(writes).toBeLessThan(40);
});
