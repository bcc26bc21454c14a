/** Number of cases of tests with many cases. `make soak` runs the tests that `vitest.config.ts` lists with more cases. */

const factor = Number(process.env['LOGFLEET_RANDOM_RUNS_FACTOR'] ?? 1);

/** Returns the number of cases for `fc.assert`: the number given in `make test`, and a multiple of it in `make soak`. */
export function randomRuns(count: number): number {
  return count * factor;
}

/** Returns all cases in `make soak`. In `make test`, returns each case whose index divided by `divisor` has the given remainder. */
export function shareOf<Case>(cases: readonly Case[], divisor: number, remainder: number): readonly Case[] {
  return factor > 1 ? cases : cases.filter((_, index) => index % divisor === remainder % divisor);
}
