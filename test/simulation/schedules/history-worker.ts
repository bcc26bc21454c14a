/** Worker thread that simulates schedules, one per seed. */
import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { compileCache } from '../../support/compile-cache.ts';
import type { HistoryOrder, WorkerData, WorkerReply } from '../history-worker.ts';
import { applyMutations } from '../mutated-sources.ts';
import { brokeOff } from '../replay.ts';

const { mutations } = workerData as WorkerData;

enableCompileCache(compileCache);
applyMutations(mutations);

const { scheduleHistory } = await import('./history.ts');

parentPort?.on('message', ({ seed }: HistoryOrder) => {
  scheduleHistory(seed).then(
    ({ violations, failedRuns, storedGaps }) => {
      const digest = JSON.stringify({ failedRuns, storedGaps });
      parentPort?.postMessage({ seed, violations, digest } satisfies WorkerReply);
    },
    (error: unknown) => {
      parentPort?.postMessage({ seed, violations: [brokeOff(error)], digest: '' } satisfies WorkerReply);
    },
  );
});
