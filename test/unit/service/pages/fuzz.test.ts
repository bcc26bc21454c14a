/**
 * Compares the page scanner with `JSON.parse` and another tokenizer on random pages (section 2.5 of docs/service.md,
 * E9).
 */
import { expect, test } from 'vitest';
import { runTrial } from '../../../fuzz/page-scanner/trial.ts';

const cases = 1_000;

test('a thousand random pages give the same result as the reference', () => {
  const trials = Array.from({ length: cases }, (_, index) => ({ seed: 1 + index, ...runTrial(1 + index) }));
  expect(trials.filter(({ violations }) => violations.length > 0)).toEqual([]);
  // The random pages must include enough valid pages, invalid pages and rows.
  expect(trials.filter(({ isPage }) => isPage).length).toBeGreaterThan(cases / 5);
  expect(trials.filter(({ isPage }) => !isPage).length).toBeGreaterThan(cases / 5);
  expect(trials.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(cases / 2);
});
