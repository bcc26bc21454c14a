/** Worker thread that simulates exports, one per seed. */
import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { compileCache } from '../../support/compile-cache.ts';
import type { HistoryOrder, WorkerData, WorkerReply } from '../history-worker.ts';
import { applyMutations } from '../mutated-sources.ts';
import { brokeOff } from '../replay.ts';

const { mutations } = workerData as WorkerData;

enableCompileCache(compileCache);
applyMutations(mutations);

const { runHistory } = await import('./history.ts');
const { planExportHistory } = await import('./plan.ts');
const { directed } = await import('./directed-plans.ts');

parentPort?.on('message', ({ seed, directions }: HistoryOrder) => {
  const plan = directions === undefined ? planExportHistory(seed) : directed(directions, seed);
  runHistory(plan).then(
    ({ violations, digest }) => parentPort?.postMessage({ seed, violations, digest } satisfies WorkerReply),
    (error: unknown) => {
      parentPort?.postMessage({ seed, violations: [brokeOff(error)], digest: '' } satisfies WorkerReply);
    },
  );
});
