/** Seeds of the directed simulations of upgrades. The seed chooses, for example, the request at which a process is killed. */
import { countFrom } from './history-pool.ts';

/** Number of seeds by direction. Directions that kill a process need one for each request of a small rollout, before and after it. */
const counts: Readonly<Record<string, number>> = {
  killed: 80,
  killedLagging: 80,
  killedFailing: 80,
  lost: 40,
  lostFailing: 40,
};
const usualCount = 20;

/** Every seed of a direction, for `make soak`. */
export function allSeeds(direction: string): Iterable<number> {
  return countFrom(1, counts[direction] ?? usualCount);
}

/** Seeds of a direction for `make test`: all for the plain kill, and otherwise every fifth. */
export function someSeeds(direction: string): Iterable<number> {
  const seeds = [...allSeeds(direction)];
  return direction === 'killed' ? seeds : seeds.filter((seed) => seed % 5 === 1);
}
