/**
 * Runs many histories side by side on threads of their own. One that does not end is given up, and one whose thread dies is told of by its
 * seed. Threads last as long as the pool: a history costs half as much where many others have run before.
 */
import { Worker } from 'node:worker_threads';
import type { HistoryOrder, WorkerData, WorkerReply } from './history-worker.ts';
import type { Mutation } from './mutated-sources.ts';
import { brokeOff } from './replay.ts';

export interface HistoryBatch {
  readonly seeds: Iterable<number>;
  /** What kind of histories the seeds stand for. */
  readonly directions?: string | undefined;
  /** Called with each end. Returns true when no more are wanted. */
  readonly onReply?: (reply: WorkerReply) => boolean;
}

/**
 * Processor time of a history at most, far beyond what one takes: the operator goes round in circles. Other work on the machine does not
 * use up this time.
 */
const usualProcessorMs = 30_000;
/** Real time of a history at most. A history that waits for what never comes takes no processor time. */
const longestMs = 5 * 60_000;
/** How often the processor time of a thread is read. */
const readEveryMs = 500;

export interface HistoryPoolOptions {
  readonly threads: number;
  readonly mutations?: readonly Mutation[];
  /** What runs a history on a thread. */
  readonly worker: URL;
  /** Processor time of a history at most. */
  readonly longestProcessorMs?: number;
}

/** What runs a history on a thread. */
export const upgradeHistories = new URL('./history-worker.ts', import.meta.url);
export const exportHistories = new URL('./exports/history-worker.ts', import.meta.url);

export class HistoryPool {
  readonly #threads: readonly HistoryThread[];

  /** Of the program as it is, or of a mutant of it. */
  constructor({ threads, mutations = [], worker, longestProcessorMs = usualProcessorMs }: HistoryPoolOptions) {
    this.#threads = Array.from({ length: threads }, () => new HistoryThread(worker, { mutations }, longestProcessorMs));
  }

  /** Replies whose histories broke a rule. */
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

/** Begins with its first history, and anew after one that did not end and one that ended its thread. */
class HistoryThread {
  readonly #program: URL;
  readonly #data: WorkerData;
  readonly #longestProcessorMs: number;
  #worker: Worker | undefined;

  constructor(program: URL, data: WorkerData, longestProcessorMs: number) {
    this.#program = program;
    this.#data = data;
    this.#longestProcessorMs = longestProcessorMs;
  }

  async run(order: HistoryOrder): Promise<WorkerReply> {
    this.#worker ??= this.#begin();
    const reply = await replyTo(this.#worker, order, this.#longestProcessorMs);
    if (typeof reply !== 'string') return reply;
    await this.end();
    return { seed: order.seed, violations: [reply], digest: '' };
  }

  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(this.#program, {
      workerData: this.#data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 1_024 },
    });
    // One that dies between two histories is not given another.
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    // Whoever waits for a reply lives; a thread that waits for an order keeps no process alive.
    worker.unref();
    return worker;
  }
}

/** Of upgrades, for all files of tests that run in a process: what one of them has made fast, the next one finds so. */
export const upgradePool = new HistoryPool({ threads: 2, worker: upgradeHistories });

/** The reply of a thread, or why there is none. */
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

/** Tells when the history that a thread begins now takes too long. Returns what ends the guard. */
function guard(worker: Worker, longestProcessorMs: number, tell: (why: string) => void): () => void {
  const endMs = performance.now() + longestMs;
  let beforeMs: number | undefined;
  const read = async () => {
    const usedMs = await processorMs(worker);
    beforeMs ??= usedMs;
    if (usedMs !== undefined && beforeMs !== undefined && usedMs - beforeMs >= longestProcessorMs) {
      tell(`convergence: it does not end within ${longestProcessorMs / 1_000} s of processor time`);
    }
  };
  const timer = setInterval(() => {
    void read();
    if (performance.now() >= endMs) tell(`convergence: it does not end within ${longestMs / 1_000} s`);
  }, readEveryMs);
  return () => clearInterval(timer);
}

/** Processor time of a thread so far; undefined of a thread that does not run. */
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
