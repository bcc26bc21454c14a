/** Seeds of the directed simulations. A seed chooses, for example, the request at which a process is killed. */
import { countFrom } from './history-pool.ts';

/**
 * Number of seeds of each plan. A plan that kills a process needs two seeds for each request: one kills the process
 * before the request, the other after it.
 */
const counts: Readonly<Record<string, number>> = {
  killed: 80,
  killedLagging: 80,
  killedFailing: 80,
  lost: 40,
  lostFailing: 40,
};
const usualCount = 20;

export function allSeeds(direction: string): Iterable<number> {
  return countFrom(1, counts[direction] ?? usualCount);
}

/** Returns the seeds that `make test` uses: every third seed of `killed`, and every tenth seed of the other plans. */
export function someSeeds(direction: string): Iterable<number> {
  const distance = direction === 'killed' ? 3 : 10;
  return [...allSeeds(direction)].filter((seed) => seed % distance === 1);
}
