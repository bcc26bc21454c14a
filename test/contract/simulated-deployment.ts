/** Starts a simulator for the contract tests. Its clock advances only when a test advances it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { certificatesIn } from '../../simulator/certificates.ts';
import type { LogData } from '../../simulator/log-data/log-data.ts';
import { madeUpData } from '../../simulator/log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings } from '../../simulator/log-data/made-up/made-up-settings.ts';
import { ServiceModel } from '../../simulator/model.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { startServer } from '../../simulator/server.ts';
import type { SimulatorState } from '../../simulator/snapshot.ts';
import { noRequestLimits } from '../../simulator/test/simulated-service.ts';
import { systemClock } from '../../src/base/clock.ts';
import { hourMs } from '../../src/base/time-units.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import type { Deployment } from './deployment.ts';
import { HttpsClient } from './https-client.ts';

export interface SimulatedDeployment extends Deployment {
  /** State of the simulator, read from its control address. */
  state(): Promise<SimulatorState>;
  collectorNamed(name: string): Promise<string>;
}

const startMs = Date.UTC(2026, 10, 1, 12);
/** Day that has log messages: the day before the simulator's current time. */
export const logDay = { fromMs: Date.UTC(2026, 9, 31), toMs: Date.UTC(2026, 10, 1) };
export const messagesPerHour = 10_000;

/** Settings for the messages of one day. */
const madeUpDay = logDataOf({ amount: { messages: 24 * messagesPerHour } });

export function logDataOf(options: Omit<MadeUpOptions, 'fromMs' | 'toMs'>): LogData {
  return madeUpData(madeUpSettings({ ...logDay, ...options }));
}

/**
 * The simulator's collectors, enough for two pages of the collector list. The service refuses to upgrade some of them.
 */
const groups = {
  web: { count: 120, version: '19.400-1' },
  cloud: { count: 1, collectorType: 'Hosted' },
  away: { count: 1, version: '19.400-1', running: false },
} as const satisfies Scenario['groups'];
const builds = ['19.300-7', '19.400-1', '19.500-1'];

/** Starts a simulator with the contract tests' default scenario. Fields of `scenario` override the default fields. */
export async function openSimulator(scenario: Scenario = {}, logData = madeUpDay): Promise<SimulatedDeployment> {
  const { ca, cert, key } = await certificates();
  const clock = new VirtualClock(startMs);
  const model = new ServiceModel({ builds, groups, limits: noRequestLimits, ...scenario }, { startMs, logData });
  const server = await startServer({ model, clock, host: '127.0.0.1', port: 0, cert, key });
  const [{ keys = { simulator: 'simulator-key' } } = {}] = Object.values(scenario.users ?? {});
  const [credentials = ''] = Object.entries(keys).map((pair) => pair.join(':'));
  const client = new HttpsClient({ baseURL: server.baseURL, ca, credentials });
  const state = async () => (await client.send('GET', '/state', { baseURL: server.controlURL })).json;
  return {
    baseURL: server.baseURL,
    logs: { query: '*', fromMs: logDay.fromMs + 6 * hourMs, toMs: logDay.fromMs + 6.25 * hourMs },
    upgradableCollector: '100000001',
    send: (method, under, options) => client.send(method, under, options),
    nowMs: () => clock.now(),
    pass: (durationMs) => clock.advance(durationMs),
    state,
    async collectorNamed(name) {
      const { collectors } = (await state()) as SimulatorState;
      const found = collectors.find((collector) => collector.name === name);
      if (!found) throw new Error(`the simulator has no collector ${name}`);
      return found.id;
    },
    async close() {
      client.close();
      await server.close();
    },
  };
}

interface DeploymentCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

let made: Promise<DeploymentCertificates> | undefined;

/** Certificates shared by all simulators of a test file. */
function certificates(): Promise<DeploymentCertificates> {
  made ??= makeCertificates();
  return made;
}

async function makeCertificates(): Promise<DeploymentCertificates> {
  const dir = await mkdtemp(path.join(tmpdir(), 'logfleet-contract-'));
  try {
    const { caFile, cert, key } = await certificatesIn(dir, systemClock.now());
    return { ca: await readFile(caFile, 'utf8'), cert, key };
  } finally {
    await rm(dir, { recursive: true });
  }
}
