/** Runs the operator in a separate process and measures it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { ControlPlaneAccess } from '../../test/support/control-plane-process.ts';
import { freePorts } from '../../test/support/supervised-program.ts';
import { imageArguments, imageEnvironment } from '../export/whole-process.ts';
import { compileCache, processorSeconds, residentMiB } from '../process-figures.ts';
import { ended } from '../simulator-process.ts';
import type { Question, RequestFigures } from './observed-operator.ts';

const program = fileURLToPath(new URL('observed-operator.ts', import.meta.url));
const pollMs = 250;
/**
 * Time in ms for which CPU usage must stay low before the operator counts as idle. This time is long, because an
 * operator that only waits for a response also uses little CPU for a while.
 */
const quietMs = 10_000;
const quietShare = 0.05;
const longestMs = 600_000;

export interface MeasuredOperatorOptions {
  readonly access: ControlPlaneAccess;
  /** Directory for the volume `exports`. */
  readonly volume: string;
  /** Folder for CPU profiles. Undefined if none are recorded. */
  readonly profiles: string | undefined;
}

/** Wall-clock time and CPU time that the operator needed, from its start, to reach a state such as idle. */
export interface Reached {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface Rest extends Reached {
  /** False if the operator was still busy at the time limit. */
  readonly isIdle: boolean;
}

export class MeasuredOperator {
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #health: string;
  readonly #profiles: string | undefined;
  readonly #startMs = performance.now();

  private constructor(child: ChildProcess, health: string, profiles: string | undefined) {
    this.#child = child;
    this.#pid = child.pid as number;
    this.#health = health;
    this.#profiles = profiles;
  }

  static async start({ access, volume, profiles }: MeasuredOperatorOptions): Promise<MeasuredOperator> {
    const [port] = await freePorts(1);
    const health = `127.0.0.1:${port}`;
    const args = ['run', '--kubeconfig', access.adminKubeconfig, '--volume', `exports=${volume}`];
    const command = [...imageArguments, program, access.server, ...args, '--health-listen', health];
    const child = spawn(process.execPath, command, {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, ...imageEnvironment, NODE_COMPILE_CACHE: compileCache },
    });
    const operator = new MeasuredOperator(child, health, profiles);
    await operator.profile();
    return operator;
  }

  /** Waits until the operator is ready and idle. Returns the wall-clock time and the CPU time until then. */
  async untilQuiet(): Promise<Rest> {
    const samples: Reached[] = [];
    const endMs = performance.now() + longestMs;
    while (performance.now() < endMs) {
      const now = this.reached();
      samples.push(now);
      const first = samples.findLast(({ seconds }) => now.seconds - seconds >= quietMs / 1_000);
      const share = first ? (now.cpuSeconds - first.cpuSeconds) / (now.seconds - first.seconds) : 1;
      if (first && share < quietShare && (await this.#isReady())) return { ...first, isIdle: true };
      await delay(pollMs);
    }
    return { ...this.reached(), isIdle: false };
  }

  /** Waits until the operator has written the status of `count` resources. */
  async untilWritten(count: number): Promise<Reached> {
    const endMs = performance.now() + longestMs;
    while (performance.now() < endMs) {
      if ((await this.#ask<number>({ ask: 'written' })) >= count) return this.reached();
      await delay(pollMs);
    }
    throw new Error(`the operator has not written ${count} statuses within the time limit`);
  }

  reached(): Reached {
    this.#mustLive();
    return { seconds: (performance.now() - this.#startMs) / 1_000, cpuSeconds: processorSeconds(this.#pid) };
  }

  residentMiB(): number {
    return residentMiB(this.#pid);
  }

  async metricsBytes(): Promise<number> {
    const { body } = await request(`http://${this.#health}/metrics`);
    return (await body.arrayBuffer()).byteLength;
  }

  figures(): Promise<RequestFigures> {
    return this.#ask<RequestFigures>({ ask: 'figures' });
  }

  async forget(): Promise<void> {
    await this.#ask({ ask: 'forget' });
  }

  /** Starts a CPU profile, if enabled. */
  async profile(): Promise<void> {
    if (this.#profiles === undefined) return;
    await this.#ask({ ask: 'profile' });
  }

  /** Writes the CPU profile, if enabled. */
  async profiled(name: string): Promise<void> {
    if (this.#profiles === undefined) return;
    await this.#ask({ ask: 'profiled', profileFile: path.join(this.#profiles, `${name}.cpuprofile`) });
  }

  async stop(): Promise<void> {
    await ended(this.#child);
  }

  async #isReady(): Promise<boolean> {
    try {
      const { statusCode, body } = await request(`http://${this.#health}/readyz`);
      await body.dump();
      return statusCode === 200;
    } catch {
      return false;
    }
  }

  async #ask<T>(question: Question): Promise<T> {
    this.#mustLive();
    const stop = new AbortController();
    const response = once(this.#child, 'message', stop);
    const end = once(this.#child, 'exit', stop).then(([status]) => {
      throw new Error(`the operator ended with exit status ${status}`);
    });
    this.#child.send(question);
    try {
      return (await Promise.race([response, end]))[0] as T;
    } finally {
      stop.abort();
      await Promise.allSettled([response, end]);
    }
  }

  #mustLive(): void {
    if (this.#child.exitCode !== null) throw new Error(`the operator ended with exit status ${this.#child.exitCode}`);
  }
}
