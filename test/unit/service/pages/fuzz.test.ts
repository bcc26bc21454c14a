/**
 * Tests the page scanner with random pages, valid and damaged. Its results are compared with those of JSON.parse and of the
 * tokenizer of @streamparser/json (2.5, E9). `make soak` tries more pages. `node test/fuzz/page-scanner.ts` replays the page of a
 * seed.
 */
import { expect, test } from 'vitest';
import { runTrial } from '../../../fuzz/page-scanner/trial.ts';

const cases = 1_000;

test('a thousand random pages give the same result as the reference', () => {
  const trials = Array.from({ length: cases }, (_, index) => ({ seed: 1 + index, ...runTrial(1 + index) }));
  expect(trials.filter(({ violations }) => violations.length > 0)).toEqual([]);
  // The random pages include many valid pages, many invalid pages, and many rows.
  expect(trials.filter(({ isPage }) => isPage).length).toBeGreaterThan(cases / 5);
  expect(trials.filter(({ isPage }) => !isPage).length).toBeGreaterThan(cases / 5);
  expect(trials.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(cases / 2);
});
