/**
 * Where the contract is tried: the simulator, started by each test or file that wants one, or a deployment that the environment
 * names (`make contract` sets these):
 *
 *     LOGFLEET_CONTRACT_BASE_URL=https://host/api  LOGFLEET_CONTRACT_ACCESS_ID=…  LOGFLEET_CONTRACT_ACCESS_KEY=…
 *     LOGFLEET_CONTRACT_CA_FILE=…                  where its certificate needs an authority of its own
 *     LOGFLEET_CONTRACT_QUERY=…                    what to search for there, without an aggregation; `*` where absent
 *     LOGFLEET_CONTRACT_ALLOW_UPGRADES=ID          a collector that may be upgraded to the latest build; none where absent
 *
 * Invariant: on a deployment requests keep to its rate, and nothing changes but search jobs, which are deleted again, and the
 * collector that was named.
 */
import { readFile } from 'node:fs/promises';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { HttpsClient, type Received, type SendOptions } from './https-client.ts';

const env = (name: string) => process.env[`LOGFLEET_CONTRACT_${name}`] || undefined;

/** Whether the suite runs on the simulator, which can be made to do everything that the contract speaks of. */
export const onSimulator = env('BASE_URL') === undefined;

export interface Deployment {
  readonly baseURL: string;
  /** What searches of the suite look for: more than one page of a few messages, on the simulator. */
  readonly logs: LogSample;
  /** A collector that may be upgraded to the latest build; undefined where there is none. */
  readonly upgradableCollector: string | undefined;
  send(method: string, path: string, options?: SendOptions): Promise<Received>;
  /** Wall time there, ms since the epoch. */
  nowMs(): number;
  /** Lets time pass: the simulator's clock is moved on, elsewhere it is waited for. */
  pass(durationMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface LogSample {
  /** Without an aggregation. */
  readonly query: string;
  /** Whole seconds in ms since the epoch, [fromMs, toMs), so long ago that what was late has come. */
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * From an answer to the next request: a margin above the quarter of a second that four a second leave. Whatever the way takes, the
 * server sees them no closer together.
 */
const paceMs = 260;
const minuteMs = 60_000;

export async function openRealDeployment(): Promise<Deployment> {
  const caFile = env('CA_FILE');
  const baseURL = (env('BASE_URL') as string).replace(/\/$/, '');
  const client = new HttpsClient({
    baseURL,
    ca: caFile === undefined ? undefined : await readFile(caFile, 'utf8'),
    credentials: `${env('ACCESS_ID')}:${env('ACCESS_KEY')}`,
  });
  const toMs = Math.floor(systemClock.now() / minuteMs) * minuteMs - 60 * minuteMs;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    baseURL,
    logs: { query: env('QUERY') ?? '*', fromMs: toMs - 15 * minuteMs, toMs },
    upgradableCollector: env('ALLOW_UPGRADES'),
    send(method, path, options) {
      const received = turn.then(() => client.send(method, path, options));
      turn = Promise.allSettled([received]).then(() => sleep(systemClock, paceMs));
      return received;
    },
    nowMs: () => systemClock.now(),
    pass: (durationMs) => sleep(systemClock, durationMs),
    close: async () => client.close(),
  };
}
