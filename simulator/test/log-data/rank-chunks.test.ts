/** Tests the store of a search's matches. */
import { expect, test } from 'vitest';
import { RankChunks } from '../../log-data/rank-chunks.ts';

test('ranks are returned in ascending order, whatever the order in which they were added', () => {
  const ranks = [5, 6, 65_535, 65_536, 70_000, 200_000, 200_001];
  const chunks = new RankChunks();
  for (const rank of [200_000, 6, 70_000, 5, 65_536, 200_001, 65_535]) chunks.add(rank);
  const found: number[] = [];
  chunks.each(0, (rank) => found.push(rank) > 0);
  expect(found).toEqual(ranks);
  found.length = 0;
  chunks.each(3, (rank) => found.push(rank) < 2);
  expect(found).toEqual([65_536, 70_000]);
});
