/** Seeds of the directed simulations of upgrades. The seed chooses, for example, the request at which a process is killed. */
import { countFrom } from './history-pool.ts';

/**
 * Number of seeds for each kind of simulated runs. If a kind kills a process, it needs two seeds for each request of a small
 * rollout: one to kill the process before the request, and one to kill it after the request.
 */
const counts: Readonly<Record<string, number>> = {
  killed: 80,
  killedLagging: 80,
  killedFailing: 80,
  lost: 40,
  lostFailing: 40,
};
const usualCount = 20;

/** Returns all seeds for a kind of simulated runs, for `make soak`. */
export function allSeeds(direction: string): Iterable<number> {
  return countFrom(1, counts[direction] ?? usualCount);
}

/**
 * Returns the seeds that `make test` uses for a kind of simulated runs: all seeds of the kind `killed`, and every tenth
 * seed of the other kinds.
 */
export function someSeeds(direction: string): Iterable<number> {
  const seeds = [...allSeeds(direction)];
  return direction === 'killed' ? seeds : seeds.filter((seed) => seed % 10 === 1);
}
