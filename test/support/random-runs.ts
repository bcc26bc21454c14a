/** Number of cases of random tests. `make soak` runs more cases. */

const factor = Number(process.env['LOGFLEET_RANDOM_RUNS_FACTOR'] ?? 1);

/** Returns the number of cases for `fc.assert`: `count`, or a multiple of it in `make soak`. */
export function randomRuns(count: number): number {
  return count * factor;
}

/**
 * Returns the cases that a test runs. In `make soak`, these are all cases. In `make test`, these are every `divisor`-th
 * case, so that several tests share the cases.
 */
export function shareOf<Case>(cases: readonly Case[], divisor: number, remainder: number): readonly Case[] {
  return factor > 1 ? cases : cases.filter((_, index) => index % divisor === remainder % divisor);
}
