/** Number of cases in random tests. `make soak` runs more cases than `make test`. */

const factor = Number(process.env['LOGFLEET_RANDOM_RUNS_FACTOR'] ?? 1);

/** Returns the number of cases for `fc.assert`: `count`, or a multiple of it in `make soak`. */
export function randomRuns(count: number): number {
  return count * factor;
}

/**
 * Returns the cases that a test runs: all of them in `make soak`, but only every `divisor`-th in `make test`. Tests
 * with different remainders divide the cases among themselves.
 */
export function shareOf<Case>(cases: readonly Case[], divisor: number, remainder: number): readonly Case[] {
  return factor > 1 ? cases : cases.filter((_, index) => index % divisor === remainder % divisor);
}
