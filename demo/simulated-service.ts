/** Log service for the demo: a simulator in its own process. It runs until `stop` is called or this process ends. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { JournalEntry } from '../simulator/requests/journal.ts';
import type { SimulatorAddress } from '../simulator/simulate.ts';
import type { SimulatorState } from '../simulator/snapshot.ts';

export interface SimulatedServiceOptions {
  /** Path of the simulator's scenario file. */
  readonly scenario: string;
  /** Path of the simulator's journal of requests. */
  readonly journal: string;
  /** Aborts the start of the simulator. */
  readonly signal: AbortSignal;
}

export class DemoService {
  readonly address: SimulatorAddress;
  readonly #child: ChildProcess;
  readonly #journal: string;

  private constructor(child: ChildProcess, address: SimulatorAddress, journal: string) {
    this.#child = child;
    this.address = address;
    this.#journal = journal;
  }

  /**
   * Starts the simulator, and resolves when it accepts requests. @throws Error if the simulator ends before then, or if
   * `signal` is aborted
   */
  static async start({ scenario, journal, signal }: SimulatedServiceOptions): Promise<DemoService> {
    const args = ['--scenario', scenario, '--journal', journal];
    const program = fileURLToPath(new URL('simulator.ts', import.meta.url));
    const child = fork(program, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    try {
      const address = JSON.parse(await firstLine(child, signal)) as SimulatorAddress;
      return new DemoService(child, address, journal);
    } catch (error) {
      if (child.connected) child.disconnect();
      throw error;
    }
  }

  /** Returns the environment variables for `logfleet run`. */
  variables(): Readonly<Record<string, string>> {
    const { baseURL, accessId, accessKey, caFile } = this.address;
    return {
      LOGFLEET_BASE_URL: baseURL,
      LOGFLEET_ACCESS_ID: accessId,
      LOGFLEET_ACCESS_KEY: accessKey,
      LOGFLEET_CA_FILE: caFile,
    };
  }

  /**
   * Returns the current state of the simulated service. The service's own list of collectors can be older than this
   * state.
   */
  async state(): Promise<SimulatorState> {
    const { controlURL, accessId, accessKey, caFile } = this.address;
    const options = { auth: `${accessId}:${accessKey}`, ca: readFileSync(caFile), agent: false as const };
    const [response] = await once(get(`${controlURL}/state`, options), 'response');
    return JSON.parse(await text(response)) as SimulatorState;
  }

  /** Ends the simulator, and returns all requests that it received. */
  async stop(): Promise<readonly JournalEntry[]> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      if (this.#child.connected) this.#child.disconnect();
      await ended;
    }
    const lines = readFileSync(this.#journal, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEntry);
  }
}

async function firstLine(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const line = new Promise<string>((resolve, reject) => {
    let received = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      received += piece;
      if (received.includes('\n')) resolve(received.slice(0, received.indexOf('\n')));
    });
    child.on('error', reject);
    child.on('exit', () => reject(new Error('the simulator ended before it was ready')));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  signal.throwIfAborted();
  return line;
}
