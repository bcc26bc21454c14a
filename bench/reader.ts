/** Client that reads messages from a simulator and discards them. */
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import type { LogScenario } from '../simulator/scenario/log-scenario.ts';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import type { SimulatorProcess } from './simulator-process.ts';

const jobsPath = '/v1/search/jobs';
/** Number of messages generated per second. */
export const perSecond = 1_000;
export const year = { from: Date.UTC(2026, 0), to: Date.UTC(2027, 0) };

/** Returns a scenario with the given log messages and without request limits. */
export function scenarioWith(logs: LogScenario): Scenario {
  return {
    limits: { requestsPerSecond: 0, concurrentRequests: 0 },
    search: { notStartedFor: '0s', duration: '0s', keepAlive: '8h', cookies: { names: [] } },
    logs: { ...logs, from: year.from, to: year.to, perSecond },
  };
}

export class SimulatorReader {
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

  /** Reads a page of messages and returns its size in bytes. */
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
    const response = await this.#pool.request(options);
    if (response.statusCode >= 300) throw new Error(`status ${response.statusCode} for ${under}`);
    return (await response.body.json()) as Record<string, unknown>;
  }
}
