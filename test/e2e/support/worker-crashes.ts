/** Kills one of an export's two workers at some of its steps, and restarts it (E3, E16). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { test as base } from './end-to-end.ts';
import { expectExported } from './exports.ts';
import { killAtBoundary } from './program.ts';
import { WorkerPods, type WorkerPodsOptions } from './worker-pods.ts';

export const test = base.extend('pods', async ({ tenant, start }, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-worker-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return (options?: WorkerPodsOptions) => new WorkerPods(folder, tenant, start, options);
});

/** Options for two workers that share the service's request limits. */
export const twoWorkers: WorkerPodsOptions = { workers: 2, requestsPerSecond: 2, maxConcurrentRequests: 4 };

/** Index of the worker to kill, and the step at which it is killed. */
export type WorkerCrash = readonly [worker: 0 | 1, step: string];

export function testWorkerCrashes(crashes: readonly WorkerCrash[]): void {
  test.concurrent.for(crashes)(
    'of two workers, worker %i is killed at %s and restarted: every row is exported once',
    async ([victim, place], { pods: podsOf }) => {
      const pods = podsOf(twoWorkers);
      // The victim starts first. Otherwise, the other worker could complete the export before the victim reaches the
      // step.
      const killed = await pods.start(victim, {
        NODE_OPTIONS: `--import ${killAtBoundary}`,
        LOGFLEET_TEST_KILL_AT: place,
      });
      const other = await pods.start(1 - victim);
      expect((await killed.ended).signal).toBe('SIGKILL');
      const again = await pods.start(victim);
      const ends = await Promise.all([other.ended, again.ended]);
      expect(ends.map(({ status }) => status)).toEqual([0, 0]);
      await expectExported(pods.place, String(pods.report(victim)?.status['fingerprint']));
    },
  );
}
