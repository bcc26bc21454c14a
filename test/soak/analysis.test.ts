/** Tests message analyses with more random simulations than `make test`. */
import { expect, test } from 'vitest';
import { planAnalysis, planHealthy, runAnalysis } from '../simulation/analysis/analysis-history.ts';

const firstSeeds = Array.from({ length: 10 }, (_, index) => 100 * index);

test.each(firstSeeds)('a hundred simulations from seed %i on judge each collector correctly', async (first) => {
  for (let seed = first; seed < first + 100; seed++) {
    const plan = planAnalysis(seed);
    expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
  }
});

test.each(firstSeeds)('a hundred healthy simulations from seed %i on have no quiet collector', async (first) => {
  for (let seed = first; seed < first + 100; seed++) {
    const plan = planHealthy(seed);
    expect(await runAnalysis(plan), JSON.stringify(plan)).toEqual([]);
  }
});
