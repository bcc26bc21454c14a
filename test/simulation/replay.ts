/** Prints the command that replays a failed simulation, and its first violations. */

/** Paths of the simulation programs, relative to the project root. */
export const upgradeProgram = 'test/simulation/run.ts';
export const exportProgram = 'test/simulation/exports/run.ts';

const maxReported = 3;

export function violationsReported(
  program: string,
  { seed, violations }: { readonly seed: number; readonly violations: readonly string[] },
  directions?: string,
): string {
  const direction = directions === undefined ? '' : ` --directions ${directions}`;
  const replay = `node_modules/node/bin/node ${program} --from ${seed}${direction} --trace`;
  return [replay, ...violations.slice(0, maxReported)].join('\n  ');
}

/** Reports a simulation that ended with an error. */
export function brokeOff(error: unknown): string {
  return `the simulation ended with an error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
