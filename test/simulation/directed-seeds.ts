/**
 * Seeds for the directed simulations, each of which triggers one special case. A seed determines, for example, the
 * request at which a process is killed.
 */
import { countFrom } from './history-pool.ts';

/**
 * Number of seeds per plan. A plan that kills a process needs two seeds for each request: one to kill the process
 * before the request, and one to kill it after the request.
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

/**
 * Returns the seeds used by `make test`: every sixth seed of the plan `killed`, and every twentieth seed of all other
 * plans.
 */
export function someSeeds(direction: string): Iterable<number> {
  const distance = direction === 'killed' ? 6 : 20;
  return [...allSeeds(direction)].filter((seed) => seed % distance === 1);
}
