/** Tests that the operator and all workers together never exceed the request limits (B8). */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { shareHistory } from '../unit/account/share-history.ts';

const histories = 10_000;

test('B8: the shares of operator and workers never exceed the limits', () => {
  let max = 0;
  for (let seed = 1_000; seed < 1_000 + histories; seed++) {
    max = Math.max(max, shareHistory(seededRandom(seed)).maxWorkers);
  }
  expect(max).toBe(3);
});
