/** Tests message analyses in random simulated runs: no result is wrong, and no result is counted twice. */
import { expect, test } from 'vitest';
import { planAnalysis, planHealthy, runAnalysis } from './analysis-history.ts';

const seeds = Array.from({ length: 20 }, (_, index) => 1 + index);

test.each(seeds)('history %i judges its members as the scenario says', async (seed) => {
  const plan = planAnalysis(seed);
  expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
});

test.each(seeds.slice(0, 10))('healthy history %i with a daily rhythm has no quiet member', async (seed) => {
  const plan = planHealthy(seed);
  expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
});
