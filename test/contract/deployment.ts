/**
 * Where the contract is tried: the simulator, started here, or a deployment that the environment names:
 *
 *     LOGFLEET_CONTRACT_BASE_URL=https://host/api  LOGFLEET_CONTRACT_ACCESS_ID=…  LOGFLEET_CONTRACT_ACCESS_KEY=…
 *     LOGFLEET_CONTRACT_CA_FILE=…                  where its certificate needs an authority of its own
 *     LOGFLEET_CONTRACT_UPGRADE_COLLECTOR=ID       a collector that may be upgraded to the latest build, for 4.9
 *
 * On a deployment requests keep to its rate, and what would need a certain fleet is not tried; `untried` names it.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { certificatesIn } from '../../src/simulator/certificates.ts';
import { ServiceModel } from '../../src/simulator/model.ts';
import type { Scenario } from '../../src/simulator/scenario.ts';
import { startServer } from '../../src/simulator/server.ts';
import { HttpsClient, type Received, type SendOptions } from './https-client.ts';

const env = (name: string) => process.env[`LOGFLEET_CONTRACT_${name}`] || undefined;

/** Whether the suite runs on the simulator, which has any fleet that a test asks for. */
export const onSimulator = env('BASE_URL') === undefined;

/** A collector that may be upgraded here; tests for each have their own on the simulator. */
export const upgradeCollector = env('UPGRADE_COLLECTOR');

export interface Deployment {
  /** A request by a user of its own on the simulator, so that tests do not share a rate; paced on a deployment. */
  send(method: string, path: string, options?: SendOptions & { readonly user?: string }): Promise<Received>;
  readonly baseURL: string;
  close(): Promise<void>;
}

/** What the simulator answers with: more than a page of old ones, and one of every kind that 7.5 refuses. */
export const groups = {
  web: { count: 120, version: '19.400-1' },
  instant: { count: 5, version: '19.400-1', upgrade: { duration: '0s' } },
  failing: {
    count: 1,
    version: '19.400-1',
    upgrade: { duration: '0s', outcomes: [{ end: 'fail', message: 'Not enough disk space.' }] },
  },
  cloud: { count: 1, collectorType: 'Hosted' },
  away: { count: 1, version: '19.400-1', running: false },
} as const satisfies Scenario['groups'];

export function openDeployment(): Promise<Deployment> {
  return onSimulator ? openSimulator() : openRealDeployment();
}

async function openSimulator(): Promise<Deployment> {
  const dir = await mkdtemp(path.join(tmpdir(), 'logfleet-contract-'));
  const { caFile, cert, key } = await certificatesIn(dir, systemClock.now());
  const names = Array.from({ length: 100 }, (_, index) => `user-${index}`);
  const users = Object.fromEntries([...names, 'patient', 'hasty'].map((name) => [name, { keys: { [name]: 'key' } }]));
  const scenario: Scenario = { builds: ['19.300-7', '19.400-1', '19.500-1'], users, groups };
  const model = new ServiceModel(scenario, { startMs: systemClock.now() });
  const server = await startServer({ model, clock: systemClock, host: '127.0.0.1', port: 0, cert, key });
  const client = new HttpsClient({ baseURL: server.baseURL, ca: await readFile(caFile, 'utf8'), credentials: '' });
  let next = 0;
  return {
    baseURL: server.baseURL,
    send: (method, under, { user = names[next++ % names.length], ...options } = {}) =>
      client.send(method, under, { credentials: `${user}:key`, ...options }),
    async close() {
      client.close();
      await server.close();
      await rm(dir, { recursive: true });
    },
  };
}

/** A margin above the quarter of a second that four a second leave. */
const paceMs = 280;

async function openRealDeployment(): Promise<Deployment> {
  const caFile = env('CA_FILE');
  const baseURL = env('BASE_URL') as string;
  const client = new HttpsClient({
    baseURL,
    ca: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    credentials: `${env('ACCESS_ID')}:${env('ACCESS_KEY')}`,
  });
  let turn = Promise.resolve();
  return {
    baseURL,
    send(method, under, options) {
      const mine = turn;
      turn = turn.then(() => sleep(systemClock, paceMs));
      return mine.then(() => client.send(method, under, options));
    },
    close: async () => client.close(),
  };
}
