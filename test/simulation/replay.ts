/** Report of a simulated run that broke a rule: the command that replays the run, and the first violations. */

/** Paths of the programs that run simulations, relative to the project's root. */
export const upgradeProgram = 'test/simulation/run.ts';
export const exportProgram = 'test/simulation/exports/run.ts';

const mostTold = 3;

export function violationsTold(
  program: string,
  { seed, violations }: { readonly seed: number; readonly violations: readonly string[] },
  directions?: string,
): string {
  const direction = directions === undefined ? '' : ` --directions ${directions}`;
  const replay = `node_modules/node/bin/node ${program} --from ${seed}${direction} --trace`;
  return [replay, ...violations.slice(0, mostTold)].join('\n  ');
}

/** Returns a report of a simulated run that ended too early, because of an error or because its thread ended. */
export function brokeOff(error: unknown): string {
  return `the history broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
