/**
 * Runs exports that read messages over TLS and write files. Also runs a simple script that exports the same messages.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LogScenario } from '../../simulator/scenario/log-scenario.ts';
import { dayMs } from '../../src/base/time-units.ts';
import type { Compression } from '../../src/output/compression.ts';
import { logMessages, newestLogMs, oldestLogMs } from '../log-page.ts';
import { compileCache, processorSeconds } from '../process-figures.ts';
import { SimulatorReader } from '../reader.ts';
import { type SimulatorProcess, startSimulator } from '../simulator-process.ts';
import type { ExportOrder } from './export-process.ts';
import type { PlainOrder } from './plain-process.ts';
import { bytesIn, UsedMemory } from './used-memory.ts';
import { imageEnvironment, type ProcessFigures, runWhole } from './whole-process.ts';

export interface MessageCorpus {
  readonly messages: number;
  /** Kind of the exported messages: random messages of the given size, or messages that compress like logs. */
  readonly kind: { readonly madeUpBytes: number } | 'packedAsLogs';
  /** Length of the time range that contains the generated messages, in days. Default: 31. */
  readonly days?: number;
}

/** Program that exports the messages: the operator's code, or a simple script (`plain`), which supports only NDJSON. */
export type ExportProgram = 'export' | 'plain';

export interface FileRun {
  readonly way: ExportProgram;
  readonly format: ExportOrder['format'];
  readonly compression: Compression;
  /** Period for which the exported files get their own folder. If absent, all files are in one folder. */
  readonly partitionBy?: 'Hour';
  /** True if the program may use only one processor. */
  readonly isOnOneProcessor?: boolean;
}

/** Results of one run. */
export interface RunFigures extends FileRun, MessageCorpus, ProcessFigures {
  /** Total size of the pages read, in MB. */
  readonly pagesMb: number;
  readonly filesMb: number;
  /** CPU time of the simulated service during the run, in seconds. */
  readonly simulatorSeconds: number;
}

export interface FileRunFigures extends RunFigures {
  readonly startSeconds: number;
}

/** Returns the CPU time of the run in seconds, excluding the CPU time needed to start the process. */
export function workSeconds({ processorSeconds, startSeconds }: FileRunFigures): number {
  return processorSeconds - startSeconds;
}

interface MessageRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const october = Date.UTC(2026, 9, 1);
const programOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const programs: Readonly<Record<ExportProgram, string>> = {
  export: programOf('export-process.ts'),
  plain: programOf('plain-process.ts'),
};

/** Measures export runs. All runs use the same simulator, which has no request limits. */
export class FileBench {
  readonly #corpus: MessageCorpus;
  readonly #directory: string;
  readonly #simulator: SimulatorProcess;
  readonly #range: MessageRange;
  readonly #pageBytes: number;

  static async start(corpus: MessageCorpus): Promise<FileBench> {
    const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
    const { range, logs } = await logsOf(corpus, directory);
    const simulator = await startSimulator(directory, {
      limits: { requestsPerSecond: 0, concurrentRequests: 0 },
      search: { notStartedFor: '0s', duration: '0s', messageLimit: 10 * corpus.messages, cookies: { names: [] } },
      logs,
    });
    const pageBytes = await pageBytesOf(simulator, corpus, range);
    return new FileBench({ corpus, directory, simulator, range, pageBytes });
  }

  private constructor(options: {
    readonly corpus: MessageCorpus;
    readonly directory: string;
    readonly simulator: SimulatorProcess;
    readonly range: MessageRange;
    readonly pageBytes: number;
  }) {
    this.#corpus = options.corpus;
    this.#directory = options.directory;
    this.#simulator = options.simulator;
    this.#range = options.range;
    this.#pageBytes = options.pageBytes;
  }

  /**
   * Runs all cases one after another, and repeats this until each case has run `times` times. For each case, returns
   * the run with the least CPU time, because other programs on the machine can only increase the CPU time.
   */
  async best(runs: readonly FileRun[], times: number): Promise<FileRunFigures[]> {
    const best: (FileRunFigures | undefined)[] = runs.map(() => undefined);
    for (let time = 0; time < times; time++) {
      for (const [index, run] of runs.entries()) {
        const { processorSeconds: startSeconds } = await this.#run(run, before(this.#range));
        const figures = { ...(await this.#run(run, this.#range)), startSeconds };
        const min = best[index];
        if (!min || workSeconds(figures) < workSeconds(min)) best[index] = figures;
      }
    }
    return best.filter((figures) => figures !== undefined);
  }

  /** Runs a case once. */
  run(run: FileRun): Promise<RunFigures> {
    return this.#run(run, this.#range);
  }

  async stop(): Promise<void> {
    await this.#simulator.stop();
    rmSync(this.#directory, { recursive: true });
  }

  async #run(run: FileRun, range: MessageRange): Promise<RunFigures> {
    const { way, compression } = run;
    const directory = path.join(this.#directory, 'files');
    mkdirSync(directory);
    const maxBytes = compression.kind === 'none' ? this.#pageBytes : this.#pageBytes / 3;
    const memory = new UsedMemory(range === this.#range ? maxBytes : 0);
    const environment = {
      NODE_COMPILE_CACHE: compileCache,
      NODE_EXTRA_CA_CERTS: this.#simulator.caFile,
      ...imageEnvironment,
    };
    const node = [process.execPath, programs[way], JSON.stringify(this.#orderOf(run, range, directory))] as const;
    const before = processorSeconds(this.#simulator.pid);
    try {
      const command = run.isOnOneProcessor ? (['taskset', '--cpu-list', '0', ...node] as const) : node;
      const figures = await runWhole(command, environment, () => memory.giveWay(directory));
      const simulatorSeconds = processorSeconds(this.#simulator.pid) - before;
      const [pagesMb, filesMb] = [this.#pageBytes / 1e6, bytesIn(directory) / 1e6];
      return { ...run, ...this.#corpus, ...figures, pagesMb, filesMb, simulatorSeconds };
    } finally {
      memory.end();
      rmSync(directory, { recursive: true });
    }
  }

  #orderOf(
    { way, format, compression, partitionBy }: FileRun,
    range: MessageRange,
    directory: string,
  ): ExportOrder | PlainOrder {
    const { baseURL, caFile, accessId, accessKey, controlURL } = this.#simulator;
    const order = { baseURL, accessId, accessKey, query: '*', ...range, compression };
    if (way === 'plain') return { ...order, file: path.join(directory, 'messages') };
    return { ...order, caFile, controlURL, format, directory, ...(partitionBy ? { partitionBy } : {}) };
  }
}

/**
 * Returns the time range before the given range, with the same length. It contains no messages, so its export takes
 * only the CPU time that the process needs to start.
 */
function before({ fromMs, toMs }: MessageRange): MessageRange {
  return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs };
}

const linesAtOnce = 1_000;

async function logsOf(
  { kind, messages, days = 31 }: MessageCorpus,
  directory: string,
): Promise<{ range: MessageRange; logs: LogScenario }> {
  if (kind !== 'packedAsLogs') {
    const fromMs = october;
    const toMs = fromMs + days * dayMs;
    const logs = { messages, from: fromMs, to: toMs, size: { typicalBytes: kind.madeUpBytes } };
    return { range: { fromMs, toMs }, logs };
  }
  const file = path.join(directory, 'messages.ndjson');
  await writeFile(file, lines(messages));
  return { range: { fromMs: oldestLogMs(messages), toMs: newestLogMs + 1 }, logs: { files: [file] } };
}

function* lines(messages: number): Generator<string> {
  let waiting: string[] = [];
  for (const message of logMessages(messages)) {
    if (waiting.push(`${JSON.stringify(message)}\n`) < linesAtOnce) continue;
    yield waiting.join('');
    waiting = [];
  }
  yield waiting.join('');
}

const sampledPages = 50;
const sampledRows = 1_000;
const lookEveryMs = 100;

/** Estimates the total size of all message pages in bytes, from a few sample pages. */
async function pageBytesOf(
  simulator: SimulatorProcess,
  { messages }: MessageCorpus,
  range: MessageRange,
): Promise<number> {
  const reader = new SimulatorReader(simulator);
  try {
    const id = await reader.createJob('*', range.fromMs, range.toMs);
    while ((await reader.status(id)).state !== 'DONE GATHERING RESULTS') await sleep(lookEveryMs);
    const rows = Math.min(sampledRows, Math.floor(messages / sampledPages));
    let bytes = 0;
    for (let page = 0; page < sampledPages; page++) {
      bytes += await reader.page(id, Math.floor((messages / sampledPages) * page), rows);
    }
    return (bytes / (sampledPages * rows)) * messages;
  } finally {
    await reader.close();
  }
}
