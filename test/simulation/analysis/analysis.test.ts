/** Tests message analyses in random simulated runs: no result is wrong, and none is counted twice. */
import { expect, test } from 'vitest';
import { planAnalysis, planHealthy, runAnalysis } from './analysis-history.ts';

const seeds = Array.from({ length: 10 }, (_, index) => 1 + index);

test.each(seeds)('simulation %i judges every collector correctly', async (seed) => {
  const plan = planAnalysis(seed);
  expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
});

test.each(seeds.slice(0, 5))('healthy simulation %i with a daily rhythm has no quiet collector', async (seed) => {
  const plan = planHealthy(seed);
  expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
});
