/** Measures the simulator's throughput per CPU core, without request limits, over TLS with keep-alive. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool } from 'undici';
import type { Scenario } from '../simulator/scenario/scenario.ts';
import type { SimulatorAddress } from '../simulator/simulate.ts';
import { processorSeconds, residentMiB } from './process-figures.ts';
import { benchPages } from './simulator/pages.ts';
import { startSimulator } from './simulator-process.ts';

interface RequestCase {
  readonly name: string;
  readonly requests: number;
  readonly request: (index: number) => { method: 'GET' | 'POST'; path: string; body?: string };
}

const collectors = 100_000;
const firstId = 100_000_001;
const listPath = '/v1/collectors/upgrades/collectors';

const cases: readonly RequestCase[] = [
  {
    name: 'tasks created',
    requests: 20_000,
    request: (index) => ({
      method: 'POST',
      path: '/v1/collectors/upgrades',
      body: JSON.stringify({ collectorId: firstId + index, toVersion: '19.500-1' }),
    }),
  },
  {
    name: 'task statuses',
    requests: 20_000,
    request: (index) => ({ method: 'GET', path: `/v1/collectors/upgrades/${200_001 + index}` }),
  },
  {
    name: 'pages of 50',
    requests: 10_000,
    request: (index) => ({ method: 'GET', path: `${listPath}?offset=${(index * 50) % collectors}` }),
  },
  {
    name: 'pages of 1,000',
    requests: 2_000,
    request: (index) => ({ method: 'GET', path: `${listPath}?limit=1000&offset=${(index * 1_000) % collectors}` }),
  },
];

const scenario: Scenario = {
  builds: ['19.400-1', '19.500-1'],
  limits: { requestsPerSecond: 0, concurrentRequests: 0 },
  upgrade: { duration: '30m', timeout: '1h' },
  groups: { web: { count: collectors, name: 'web-######', version: '19.400-1' } },
};

async function measure(pool: Pool, { requests, request }: RequestCase, ready: SimulatorAddress, pid: number) {
  const authorization = `Basic ${Buffer.from(`${ready.accessId}:${ready.accessKey}`).toString('base64')}`;
  const headers = { authorization, accept: 'application/json', 'content-type': 'application/json' };
  const base = new URL(ready.baseURL).pathname;
  let next = 0;
  let bytes = 0;
  const worker = async () => {
    for (let index = next++; index < requests; index = next++) {
      const { path: under, ...rest } = request(index);
      const { statusCode, body } = await pool.request({ ...rest, path: base + under, headers });
      if (statusCode >= 300) throw new Error(`status ${statusCode} for ${under}`);
      const { byteLength } = await body.arrayBuffer();
      bytes += byteLength;
    }
  };
  const [startMs, startCpu] = [performance.now(), processorSeconds(pid)];
  await Promise.all(Array.from({ length: 10 }, worker));
  const seconds = (performance.now() - startMs) / 1000;
  const cpu = processorSeconds(pid) - startCpu;
  return { perSecond: requests / seconds, perCore: requests / cpu, mbPerSecond: bytes / 1e6 / seconds };
}

export async function benchSimulator(): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const simulator = await startSimulator(directory, scenario);
  const { pid } = simulator;
  const connect = { ca: readFileSync(simulator.caFile) };
  const pool = new Pool(new URL(simulator.baseURL).origin, { connections: 10, connect });
  console.log(`simulator with ${collectors} collectors, ${residentMiB(pid).toFixed(0)} MiB at the start`);
  for (const one of cases) {
    const { perSecond, perCore, mbPerSecond } = await measure(pool, one, simulator, pid);
    console.log(
      `${one.name.padEnd(16)} ${perSecond.toFixed(0).padStart(7)} requests/s, ${perCore.toFixed(0).padStart(7)} per second of CPU time, ${mbPerSecond.toFixed(1).padStart(6)} MB/s`,
    );
  }
  console.log(`${residentMiB(pid).toFixed(0)} MiB at the end`);
  await pool.destroy();
  await simulator.stop();
  await benchPages(directory);
  rmSync(directory, { recursive: true });
}
