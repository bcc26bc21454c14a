/** Runs simulated upgrades: `node test/simulation/run.ts`, with the flags in `history-command.ts`. */
import { directed } from './directed-plans.ts';
import { runHistory } from './history.ts';
import { runHistories } from './history-command.ts';
import { upgradeHistories } from './history-pool.ts';
import { planHistory } from './plan.ts';
import { upgradeProgram } from './replay.ts';

await runHistories({
  program: upgradeProgram,
  worker: upgradeHistories,
  replay: async (seed, directions, trace) => {
    const plan = directions === undefined ? planHistory(seed) : directed(directions, seed);
    const { violations, digest, record } = await runHistory(plan, trace);
    const { endMs, posts, state } = record;
    const figures = `${Math.round(endMs / 1_000)} s, ${posts.length} POSTs, ${state.counters.requests} requests`;
    return { violations, digest, figures };
  },
});
