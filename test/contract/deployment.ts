/**
 * The deployment that the contract suite tests. By default, it is the simulator, which each test file starts.
 * Environment variables can specify a real deployment (`make contract` sets them):
 *
 *     LOGFLEET_CONTRACT_BASE_URL=https://host/api  LOGFLEET_CONTRACT_ACCESS_ID=…  LOGFLEET_CONTRACT_ACCESS_KEY=…
 *     LOGFLEET_CONTRACT_CA_FILE=…                  CA certificate, if the machine does not trust it
 *     LOGFLEET_CONTRACT_QUERY=…                    query without an aggregation; default: `*`
 *     LOGFLEET_CONTRACT_ALLOW_UPGRADES=ID          collector that may be upgraded to the latest build; default: none
 *
 * The suite never exceeds the deployment's request rate limit. It creates only search jobs, which it deletes
 * afterwards, and upgrades only the specified collector.
 */
import { readFile } from 'node:fs/promises';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { HttpsClient, type Received, type SendOptions } from './https-client.ts';

const env = (name: string) => process.env[`LOGFLEET_CONTRACT_${name}`] || undefined;

/**
 * True if the contract tests run on the simulator. Unlike a real deployment, the simulator can show all specified
 * behaviour.
 */
export const onSimulator = env('BASE_URL') === undefined;

export interface Deployment {
  readonly baseURL: string;
  /**
   * Search that finds the sample messages. On the simulator, there are enough messages for several small result pages.
   */
  readonly logs: LogSample;
  /** Collector that may be upgraded to the latest build, or undefined if there is none. */
  readonly upgradableCollector: string | undefined;
  send(method: string, path: string, options?: SendOptions): Promise<Received>;
  nowMs(): number;
  /** Advances the simulator's clock or, on a real deployment, waits. */
  pass(durationMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface LogSample {
  /** Search query that finds messages, without an aggregation. */
  readonly query: string;
  /** Time range of the sample messages, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Interval in ms between requests. It keeps the rate slightly below four requests per second. */
const paceMs = 260;

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
    async close() {
      // Waits for the pause after the last request, because the next test file's requests count towards the same rate.
      await turn;
      client.close();
    },
  };
}
