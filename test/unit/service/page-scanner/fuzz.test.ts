/**
 * Random pages, valid and damaged, compared with JSON.parse and the tokenizer of @streamparser/json (2.5, E9). Also checks that
 * these cases detect wrong scanners. `node test/fuzz/page-scanner.ts` runs more cases and replays a seed.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MutantTrial } from '../../../fuzz/page-scanner/mutant-worker.ts';
import { mutants } from '../../../fuzz/page-scanner/mutants.ts';
import { runTrial } from '../../../fuzz/page-scanner/trial.ts';

const cases = 10_000;
const casesAtOnce = 1_000;
const starts = Array.from({ length: cases / casesAtOnce }, (_, index) => 1 + index * casesAtOnce);

test.each(starts)('the thousand random cases from seed %d on', (start) => {
  const seeds = Array.from({ length: casesAtOnce }, (_, index) => start + index);
  const trials = seeds.map((seed) => ({ seed, ...runTrial(seed) }));
  expect(trials.filter(({ violations }) => violations.length > 0)).toEqual([]);
  // There are many cases of each kind.
  expect(trials.filter(({ isPage }) => isPage).length).toBeGreaterThan(casesAtOnce / 5);
  expect(trials.filter(({ isPage }) => !isPage).length).toBeGreaterThan(casesAtOnce / 5);
  expect(trials.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(casesAtOnce / 2);
});

describe('the cases detect a scanner in which', () => {
  let worker: Worker;

  beforeAll(() => {
    worker = new Worker(new URL('../../../fuzz/page-scanner/mutant-worker.ts', import.meta.url), { execArgv: [] });
  });

  afterAll(() => worker.terminate());

  test.each(mutants)('$name', async (mutant) => {
    worker.postMessage({ mutant, cases } satisfies MutantTrial);
    const [tellingSeed] = await once(worker, 'message');
    expect(tellingSeed).toBeTypeOf('number');
  });
});
