/** Runs many simulations in parallel on worker threads, and reports the seed of each simulation that fails or hangs. */
import { Worker } from 'node:worker_threads';
import type { HistoryOrder, WorkerData, WorkerReply } from './history-worker.ts';
import type { Mutation } from './mutated-sources.ts';
import { brokeOff } from './replay.ts';

export interface HistoryBatch {
  readonly seeds: Iterable<number>;
  readonly directions?: string | undefined;
  /** Called after each simulation. If it returns true, no more simulations are started. */
  readonly onReply?: (reply: WorkerReply) => boolean;
}

/** Maximum CPU time per simulation, in ms. It detects endless loops even on a busy machine. */
const usualProcessorMs = 30_000;
/** Maximum real time in ms for which a simulation may wait without using CPU time. */
const longestMs = 5 * 60_000;
/** Interval in ms at which the pool reads the CPU time used by each thread. */
const readEveryMs = 500;

/**
 * Number of simulations after which a thread is replaced, because each process killed in a simulation leaves 10 to 20
 * MB of memory behind.
 */
const maxPerThread = 30;

export interface HistoryPoolOptions {
  readonly threads: number;
  readonly mutations?: readonly Mutation[];
  /** Path of the program run by worker threads. */
  readonly worker: URL;
  readonly longestProcessorMs?: number;
}

export const upgradeHistories = new URL('./history-worker.ts', import.meta.url);
export const exportHistories = new URL('./exports/history-worker.ts', import.meta.url);
export const scheduleHistories = new URL('./schedules/history-worker.ts', import.meta.url);

export class HistoryPool {
  readonly #threads: readonly HistoryThread[];

  /** Mutations to apply to the program. Without mutations, the original program runs. */
  constructor({ threads, mutations = [], worker, longestProcessorMs = usualProcessorMs }: HistoryPoolOptions) {
    this.#threads = Array.from({ length: threads }, () => new HistoryThread(worker, { mutations }, longestProcessorMs));
  }

  /** Returns the simulations that broke a rule, sorted by seed. */
  async run({ seeds, directions, onReply }: HistoryBatch): Promise<WorkerReply[]> {
    const left = seeds[Symbol.iterator]();
    const violated: WorkerReply[] = [];
    let enough = false;
    const runSome = async (thread: HistoryThread) => {
      for (let next = left.next(); !enough && !next.done; next = left.next()) {
        const reply = await thread.run({ seed: next.value, directions });
        if (reply.violations.length > 0) violated.push(reply);
        if (onReply?.(reply)) enough = true;
      }
    };
    await Promise.all(this.#threads.map(runSome));
    return violated.sort((first, second) => first.seed - second.seed);
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}

/**
 * Worker thread for simulations. The first simulation starts the thread. If the thread ends, the next simulation starts
 * another.
 */
class HistoryThread {
  readonly #program: URL;
  readonly #data: WorkerData;
  readonly #longestProcessorMs: number;
  #worker: Worker | undefined;
  #count = 0;

  constructor(program: URL, data: WorkerData, longestProcessorMs: number) {
    this.#program = program;
    this.#data = data;
    this.#longestProcessorMs = longestProcessorMs;
  }

  async run(order: HistoryOrder): Promise<WorkerReply> {
    if (this.#count >= maxPerThread) await this.end();
    this.#worker ??= this.#begin();
    this.#count++;
    const reply = await replyTo(this.#worker, order, this.#longestProcessorMs);
    if (typeof reply !== 'string') return reply;
    await this.end();
    return { seed: order.seed, violations: [reply], digest: '' };
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#count = 0;
    await worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(this.#program, {
      workerData: this.#data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 1_024 },
    });
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    worker.unref();
    return worker;
  }
}

/** Pools of worker threads. Several tests share a pool, so that each thread compiles the code only once. */
export const upgradePool = new HistoryPool({ threads: 2, worker: upgradeHistories });
export const exportPool = new HistoryPool({ threads: 2, worker: exportHistories });
export const schedulePool = new HistoryPool({ threads: 2, worker: scheduleHistories });

/** Runs a simulation on a worker thread. Resolves to the thread's reply, or to the reason why it did not reply. */
function replyTo(worker: Worker, order: HistoryOrder, longestProcessorMs: number): Promise<WorkerReply | string> {
  return new Promise((resolve) => {
    const stopGuard = guard(worker, longestProcessorMs, (why) => end(why));
    const onError = (error: unknown) => end(brokeOff(error));
    const onExit = (code: number) => end(brokeOff(`its thread ended with code ${code}`));
    const end = (reply: WorkerReply | string) => {
      stopGuard();
      worker.off('message', end).off('error', onError).off('exit', onExit);
      resolve(reply);
    };
    worker.on('message', end).on('error', onError).on('exit', onExit);
    worker.postMessage(order);
  });
}

/**
 * Calls `tell` with the reason if the simulation takes too long. Returns a function that stops watching the simulation.
 */
function guard(worker: Worker, longestProcessorMs: number, tell: (why: string) => void): () => void {
  const endMs = performance.now() + longestMs;
  let beforeMs: number | undefined;
  const read = async () => {
    const usedMs = await processorMs(worker);
    beforeMs ??= usedMs;
    if (usedMs !== undefined && beforeMs !== undefined && usedMs - beforeMs >= longestProcessorMs) {
      tell(`convergence: the simulation does not end within ${longestProcessorMs / 1_000} s of processor time`);
    }
  };
  const timer = setInterval(() => {
    void read();
    if (performance.now() >= endMs) tell(`convergence: the simulation does not end within ${longestMs / 1_000} s`);
  }, readEveryMs);
  return () => clearInterval(timer);
}

/** Returns the CPU time in ms used by a thread, or undefined if the thread is not running. */
async function processorMs(worker: Worker): Promise<number | undefined> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    return undefined;
  }
}

export function* countFrom(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}
