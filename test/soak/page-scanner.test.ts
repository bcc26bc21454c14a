/**
 * Tests the page scanner with more random pages than `make test`, and tests that random pages detect faulty scanners.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MutantTrial } from '../fuzz/page-scanner/mutant-worker.ts';
import { mutants } from '../fuzz/page-scanner/mutants.ts';
import { runTrial } from '../fuzz/page-scanner/trial.ts';

/** First seed not used by `make test`. */
const firstSeed = 1_001;
const lastSeed = 100_000;
const perTest = 9_000;
const starts = Array.from({ length: (lastSeed - firstSeed + 1) / perTest }, (_, index) => firstSeed + index * perTest);

test.each(starts)('nine thousand random pages from seed %d on', (start) => {
  const seeds = Array.from({ length: perTest }, (_, index) => start + index);
  const wrong = seeds.map((seed) => ({ seed, violations: runTrial(seed).violations }));
  expect(wrong.filter(({ violations }) => violations.length > 0)).toEqual([]);
});

describe('random pages detect a scanner in which', () => {
  const cases = 10_000;
  let worker: Worker;

  beforeAll(() => {
    worker = new Worker(new URL('../fuzz/page-scanner/mutant-worker.ts', import.meta.url), { execArgv: [] });
  });

  afterAll(() => worker.terminate());

  test.each(mutants)('$name', async (mutant) => {
    worker.postMessage({ mutant, cases } satisfies MutantTrial);
    const [tellingSeed] = await once(worker, 'message');
    expect(tellingSeed).toBeTypeOf('number');
  });
});
