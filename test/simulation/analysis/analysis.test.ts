/**
 * Tests message analyses with random simulated runs: no judgement is wrong, and none is counted twice. `make soak` runs 1,000 of each kind.
 */
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
