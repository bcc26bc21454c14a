/**
 * Pages of messages over TLS, and what a year of messages with 200 open jobs takes: the simulator in a process of its own, this one
 * reads and throws away. What one core could serve follows from the processor time that the server took.
 */
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import type { Scenario } from '../../src/simulator/scenario.ts';
import type { LogScenario } from '../../src/simulator/search/log-scenario.ts';
import { peakResidentMiB, processorSeconds, residentMiB } from '../process-figures.ts';
import { type SimulatorProcess, startSimulator } from '../simulator-process.ts';

const jobsPath = '/v1/search/jobs';
const year = { from: Date.UTC(2026, 0), to: Date.UTC(2027, 0) };

interface Case {
  readonly name: string;
  readonly logs: LogScenario;
  readonly pageRows: number;
  readonly megabytes: number;
}

const cases: readonly Case[] = [
  { name: 'pages of 10,000 small messages', logs: {}, pageRows: 10_000, megabytes: 2_000 },
  { name: 'pages of 100 MB', logs: { size: { typicalBytes: 10_000 } }, pageRows: 10_000, megabytes: 2_000 },
  {
    name: 'pages with messages of 256 KB',
    logs: { size: { largeShare: 0.03 } },
    pageRows: 10_000,
    megabytes: 2_000,
  },
];

function scenarioWith(logs: LogScenario): Scenario {
  return {
    limits: { requestsPerSecond: 0, concurrentRequests: 0 },
    search: { notStartedFor: '0s', duration: '0s', keepAlive: '8h', cookies: { names: [] } },
    logs: { ...logs, from: year.from, to: year.to, perSecond: 100 },
  };
}

/** A client of one simulator. */
class Reader {
  readonly #pool: Pool;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(simulator: SimulatorProcess) {
    const { origin, pathname } = new URL(simulator.baseURL);
    this.#pool = new Pool(origin, { connections: 10, connect: { ca: readFileSync(simulator.caFile) } });
    this.#base = pathname;
    const credentials = Buffer.from(`${simulator.accessId}:${simulator.accessKey}`).toString('base64');
    this.#headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/json' };
  }

  async createJob(query: string, from: number, to: number): Promise<string> {
    const body = JSON.stringify({ query, from, to, timeZone: 'UTC' });
    return (await this.#json('POST', jobsPath, body)).id as string;
  }

  async status(id: string): Promise<Record<string, unknown>> {
    return this.#json('GET', `${jobsPath}/${id}`);
  }

  /** Bytes of a page. */
  async page(id: string, offset: number, limit: number): Promise<number> {
    const under = `${this.#base}${jobsPath}/${id}/messages?offset=${offset}&limit=${limit}`;
    const { statusCode, body } = await this.#pool.request({ method: 'GET', path: under, headers: this.#headers });
    if (statusCode !== 200) throw new Error(`status ${statusCode} for ${under}`);
    let bytes = 0;
    for await (const piece of body) bytes += (piece as Buffer).length;
    return bytes;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #json(method: 'GET' | 'POST', under: string, body?: string): Promise<Record<string, unknown>> {
    const options = { method, path: this.#base + under, headers: this.#headers, ...(body ? { body } : {}) };
    const answer = await this.#pool.request(options);
    if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode} for ${under}`);
    return (await answer.body.json()) as Record<string, unknown>;
  }
}

/** Reads pages, `atOnce` at a time, until there were so many bytes; each page begins where the one before it ended. */
async function readPages(reader: Reader, id: string, pageRows: number, megabytes: number, atOnce: number) {
  let offset = 0;
  let bytes = 0;
  const worker = async () => {
    while (bytes < megabytes * 1e6) {
      const start = offset;
      offset = (offset + pageRows) % 100_000;
      const pageBytes = await reader.page(id, start, pageRows);
      bytes += pageBytes;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return bytes;
}

async function benchCase({ name, logs, pageRows, megabytes }: Case, directory: string): Promise<void> {
  const simulator = await startSimulator(directory, scenarioWith(logs));
  const reader = new Reader(simulator);
  const id = await reader.createJob('*', year.from, year.to);
  await readPages(reader, id, pageRows, megabytes / 10, 1);
  for (const atOnce of [1, 4]) {
    const [startMs, startCpu] = [performance.now(), processorSeconds(simulator.pid)];
    const bytes = await readPages(reader, id, pageRows, megabytes, atOnce);
    const seconds = (performance.now() - startMs) / 1000;
    const cpu = processorSeconds(simulator.pid) - startCpu;
    console.log(
      `${name}, ${atOnce} at once`.padEnd(42) +
        `${(bytes / 1e6 / seconds).toFixed(0).padStart(5)} MB/s, ` +
        `${(bytes / 1e6 / cpu).toFixed(0).padStart(5)} MB per second of processor time, ` +
        `${residentMiB(simulator.pid).toFixed(0)} MiB`,
    );
  }
  await reader.close();
  await simulator.stop();
}

const queries = ['*', 'error', '_sourceCategory=prod/*', '* | count by _sourceHost', 'timeout OR connection'];

/** 200 jobs on a year of 3,000 million messages, all open, each polled and read from. */
async function benchOpenJobs(directory: string): Promise<void> {
  const simulator = await startSimulator(directory, scenarioWith({}));
  const { pid } = simulator;
  const reader = new Reader(simulator);
  const atStart = residentMiB(pid);
  const [startMs, startCpu] = [performance.now(), processorSeconds(pid)];
  let messages = 0;
  for (let index = 0; index < 200; index++) {
    const query = queries[index % queries.length] as string;
    // Ends of their own, so that no job finds what another one has.
    const id = await reader.createJob(query, year.from, year.to - index * 3_600_000);
    messages += (await reader.status(id))['messageCount'] as number;
    if (!query.includes('|')) await reader.page(id, 0, 1_000);
  }
  const seconds = (performance.now() - startMs) / 1000;
  console.log(
    `200 open jobs on a year of messages: ${atStart.toFixed(0)} MiB at the start, ${residentMiB(pid).toFixed(0)} MiB at the end, ` +
      `${peakResidentMiB(pid).toFixed(0)} MiB at most; ${messages.toExponential(2)} messages found in ${seconds.toFixed(1)} s, ` +
      `${(processorSeconds(pid) - startCpu).toFixed(1)} s of processor time`,
  );
  await reader.close();
  await simulator.stop();
}

/** `directory` takes scenarios and certificates. */
export async function benchPages(directory: string): Promise<void> {
  for (const one of cases) await benchCase(one, directory);
  await benchOpenJobs(directory);
}
