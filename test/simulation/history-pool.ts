/** Runs many histories side by side on threads of their own; one that does not end is given up and told of as such. */
import { Worker } from 'node:worker_threads';
import type { WorkerData, WorkerReply } from './history-worker.ts';
import type { Mutation } from './mutants.ts';

export interface PoolOptions {
  readonly seeds: Iterable<number>;
  readonly threads: number;
  readonly mutations?: readonly Mutation[];
  readonly directions?: string;
  /** Called with each end. Returns true when no more are wanted. */
  readonly onReply?: (reply: WorkerReply) => boolean;
}

/** Far beyond what a history takes: the operator goes round in circles. */
const hangsMs = 30_000;

/** Replies whose histories broke a rule. */
export async function runHistories(options: PoolOptions): Promise<WorkerReply[]> {
  const seeds = options.seeds[Symbol.iterator]();
  const violated: WorkerReply[] = [];
  let enough = false;
  const take = (reply: WorkerReply) => {
    if (reply.violations.length > 0) violated.push(reply);
    if (options.onReply?.(reply)) enough = true;
  };
  const next = () => (enough ? undefined : (seeds.next().value as number | undefined));
  await Promise.all(Array.from({ length: options.threads }, () => runThread(options, next, take)));
  return violated.sort((left, right) => left.seed - right.seed);
}

async function runThread(
  { mutations = [], directions }: PoolOptions,
  next: () => number | undefined,
  take: (reply: WorkerReply) => void,
): Promise<void> {
  let worker: Worker | undefined;
  for (let seed = next(); seed !== undefined; seed = next()) {
    worker ??= startWorker({ mutations, directions });
    const reply = await runOne(worker, seed);
    if (reply.violations[0] === hangs) {
      await worker.terminate();
      worker = undefined;
    }
    take(reply);
  }
  await worker?.terminate();
}

function startWorker(data: WorkerData): Worker {
  return new Worker(new URL('./history-worker.ts', import.meta.url), {
    workerData: data,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 1_024 },
  });
}

const hangs = `convergence: it does not end within ${hangsMs / 1_000} s`;

function runOne(worker: Worker, seed: number): Promise<WorkerReply> {
  return new Promise((resolve, reject) => {
    const guard = setTimeout(() => end(() => resolve({ seed, violations: [hangs], digest: '' })), hangsMs);
    const onMessage = (reply: WorkerReply) => end(() => resolve(reply));
    const onError = (error: unknown) => end(() => reject(error));
    const end = (settle: () => void) => {
      clearTimeout(guard);
      worker.off('message', onMessage).off('error', onError);
      settle();
    };
    worker.on('message', onMessage).on('error', onError);
    worker.postMessage(seed);
  });
}

export function* countFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}
