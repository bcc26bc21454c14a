/** What a person types to see a history again. */
export function replayCommand(seed: number, directions?: string): string {
  const direction = directions === undefined ? '' : ` --directions ${directions}`;
  return `node_modules/node/bin/node test/simulation/exports/run.ts --from ${seed}${direction} --trace`;
}

/** What runs histories of exports on a thread. */
export const exportHistories = new URL('./history-worker.ts', import.meta.url);
