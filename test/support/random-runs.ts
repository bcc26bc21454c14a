/** Number of cases of random tests. `make soak` runs more cases. */

const factor = Number(process.env['LOGFLEET_RANDOM_RUNS_FACTOR'] ?? 1);

/** Returns the number of cases for `fc.assert`, which `make soak` multiplies. */
export function randomRuns(count: number): number {
  return count * factor;
}

/**
 * Returns all cases in `make soak`. In `make test`, returns every `divisor`-th case, so that several tests can divide
 * the cases among them.
 */
export function shareOf<Case>(cases: readonly Case[], divisor: number, remainder: number): readonly Case[] {
  return factor > 1 ? cases : cases.filter((_, index) => index % divisor === remainder % divisor);
}
