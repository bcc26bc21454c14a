/** What a person reads of a history that broke a rule: what to type to see it again, and the first of what went wrong. */
import type { WorkerReply } from './history-worker.ts';

/** The commands, from the project's root. */
export const upgradeProgram = 'test/simulation/run.ts';
export const exportProgram = 'test/simulation/exports/run.ts';

const mostTold = 3;

export function violationsTold(
  program: string,
  { seed, violations }: Pick<WorkerReply, 'seed' | 'violations'>,
  directions?: string,
): string {
  const direction = directions === undefined ? '' : ` --directions ${directions}`;
  const replay = `node_modules/node/bin/node ${program} --from ${seed}${direction} --trace`;
  return [replay, ...violations.slice(0, mostTold)].join('\n  ');
}

/** What is told of no rule that was broken: the program failed in the midst of a history, or its thread did. */
export function brokeOff(error: unknown): string {
  return `the history broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
