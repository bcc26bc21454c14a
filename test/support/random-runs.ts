/** Number of random cases of property tests. `make soak` runs the property tests that `vitest.config.ts` lists with more cases. */

const factor = Number(process.env['LOGFLEET_RANDOM_RUNS_FACTOR'] ?? 1);

/** Returns the number of cases for `fc.assert`: the number given in `make test`, and a multiple of it in `make soak`. */
export function randomRuns(count: number): number {
  return count * factor;
}
