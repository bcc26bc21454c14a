/** Runs simulated exports: `node test/simulation/exports/run.ts`, with the flags in `../history-command.ts`. */
import { runHistories } from '../history-command.ts';
import { exportHistories } from '../history-pool.ts';
import { exportProgram } from '../replay.ts';
import { directed } from './directed-plans.ts';
import { runHistory } from './history.ts';
import { planExportHistory } from './plan.ts';

await runHistories({
  program: exportProgram,
  worker: exportHistories,
  replay: async (seed, directions, trace) => {
    const plan = directions === undefined ? planExportHistory(seed) : directed(directions, seed);
    const { violations, digest, record } = await runHistory(plan, trace);
    const { endMs, counters, records } = record;
    const figures = `${Math.round(endMs / 1_000)} s, ${records.length} records, ${counters.requests} requests`;
    return { violations, digest, figures };
  },
});
