/** Command that simulates the operator with many seeds, and prints how to replay each failed run. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { countFrom, HistoryPool } from './history-pool.ts';
import { violationsReported } from './replay.ts';

export interface HistoryKind {
  /** Path of the command, relative to the project root. */
  readonly program: string;
  /** Path of the program run by worker threads. */
  readonly worker: URL;
  /**
   * Runs one simulation on the main thread. `figures` is a string with statistics on the run, to be printed for the
   * user.
   */
  readonly replay: (
    seed: number,
    directions: string | undefined,
    trace: ((line: string) => void) | undefined,
  ) => Promise<{ readonly violations: readonly string[]; readonly digest: string; readonly figures: string }>;
}

/** Runs the simulations selected on the command line. The exit status is 1 if a simulation broke a rule. */
export async function runHistories(kind: HistoryKind): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
      threads: { type: 'string', default: String(availableParallelism()) },
      directions: { type: 'string' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return tell(usageOf(kind.program));
  const [from, seeds, threads] = [Number(values.from), Number(values.seeds), Number(values.threads)];
  const { directions, trace } = values;
  const held = await (seeds === 1
    ? replayOne(kind, from, directions, trace)
    : runMany(kind, { from, seeds, directions, threads }));
  process.exitCode = held ? 0 : 1;
}

function usageOf(program: string): string {
  return `Runs histories on a virtual clock, and judges each of them. A broken rule ends the command with status 1.

  node ${program} [--seeds N] [--from SEED] [--threads N] [--directions NAME] [--trace]

  --seeds N          number of histories (1). One history alone is a replay
  --from SEED        seed of the first history (1)
  --threads N        number of threads (${availableParallelism()})
  --directions NAME  kind of history with a given course; without it, seeds decide the course
  --trace            print each step of a replay

Example: node ${program} --from 42 --trace`;
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function replayOne(
  kind: HistoryKind,
  seed: number,
  directions: string | undefined,
  trace: boolean,
): Promise<boolean> {
  const { violations, digest, figures } = await kind.replay(seed, directions, trace ? tell : undefined);
  for (const violation of violations) tell(violation);
  tell(`seed ${seed} (${digest}): ${figures}, ${violations.length} violations`);
  return violations.length === 0;
}

interface ManyHistories {
  readonly from: number;
  readonly seeds: number;
  readonly directions: string | undefined;
  readonly threads: number;
}

async function runMany({ program, worker }: HistoryKind, { from, seeds, directions, threads }: ManyHistories) {
  const begunMs = performance.now();
  let ended = 0;
  const pool = new HistoryPool({ threads, worker });
  const violated = await pool.run({
    seeds: countFrom(from, seeds),
    directions,
    onReply: (reply) => {
      if (reply.violations.length > 0) tell(violationsReported(program, reply, directions));
      if (++ended % 1_000 === 0) tell(`${ended} of ${seeds}`);
      return false;
    },
  });
  await pool.close();
  const perMinute = Math.round((seeds / (performance.now() - begunMs)) * 60_000);
  tell(`${seeds - violated.length} histories held, ${violated.length} did not; ${perMinute} a minute`);
  return violated.length === 0;
}
