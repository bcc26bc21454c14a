/**
 * `node test/simulation/exports/run.ts [--seeds N] [--from SEED] [--directions NAME] [--threads N]` runs N histories of exports, and tells how to replay
 * each that broke a rule. One seed alone is a replay: it tells all that happened with `--trace`.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { countFrom, HistoryPool } from '../history-pool.ts';
import { directed } from './directed-plans.ts';
import { runHistory } from './history.ts';
import { planExportHistory } from './plan.ts';
import { exportHistories, replayCommand } from './replay.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    threads: { type: 'string', default: String(availableParallelism()) },
    directions: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
});

const from = Number(values.from);
const seeds = Number(values.seeds);
const { directions } = values;
process.exitCode = (await (seeds === 1 ? replay() : runMany())) ? 0 : 1;

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function replay(): Promise<boolean> {
  const plan = directions === undefined ? planExportHistory(from) : directed(directions, from);
  const { violations, digest, record } = await runHistory(plan, values.trace ? tell : undefined);
  for (const violation of violations) tell(violation);
  const { endMs, counters, records } = record;
  tell(
    `seed ${from} (${digest}): ${Math.round(endMs / 1_000)} s, ${records.length} records, ${counters.requests} requests, ${violations.length} violations`,
  );
  return violations.length === 0;
}

async function runMany(): Promise<boolean> {
  const begunMs = performance.now();
  let ended = 0;
  const pool = new HistoryPool({ threads: Number(values.threads), worker: exportHistories });
  const violated = await pool.run({
    seeds: countFrom(from, seeds),
    directions,
    onReply: ({ seed, violations }) => {
      if (violations.length > 0) tell(`${replayCommand(seed, directions)}\n  ${violations.slice(0, 3).join('\n  ')}`);
      if (++ended % 1_000 === 0) tell(`${ended} of ${seeds}`);
      return false;
    },
  });
  await pool.close();
  const perMinute = Math.round((seeds / (performance.now() - begunMs)) * 60_000);
  tell(`${seeds - violated.length} histories held, ${violated.length} did not; ${perMinute} a minute`);
  return violated.length === 0;
}
