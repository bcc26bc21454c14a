/**
 * Measures the time from the creation or change of a policy to its first upgrade request, with a real API server and
 * the simulator. Each policy has ten collectors and its own service user, so that its requests do not wait for those of
 * other policies.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { startControlPlane } from '../../test/support/control-plane-process.ts';
import { ended, mainProgram, type SimulatorProcess, startSimulator } from '../simulator-process.ts';
import { ApiServer } from './api-server.ts';

export interface LatencyFigures {
  readonly applies: number;
  /** Times from the creation of a policy to its first upgrade request, in ms, in ascending order. */
  readonly newPolicyToPost: readonly number[];
  readonly newTargetToPost: readonly number[];
  /**
   * Times in ms from a change of the target version until a watch shows a status for the new generation of the policy.
   */
  readonly newTargetToStatus: readonly number[];
}

const firstTarget = '19.400-1';
const secondTarget = '19.500-1';
const collectorsEach = 10;
/** Pause in ms between two apply requests. */
const pauseMs = 100;
const pollMs = 2;
const deadlineMs = 60_000;
/** Number of warm-up apply requests, which are not measured because Node is still compiling code during them. */
const warmUps = 5;

export async function measureLatency(applies: number): Promise<LatencyFigures> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const journal = path.join(directory, 'journal.ndjson');
  const controlPlane = await startControlPlane();
  const api = new ApiServer(controlPlane.access);
  let operator: ChildProcess | undefined;
  let simulator: SimulatorProcess | undefined;
  try {
    const count = applies + warmUps;
    simulator = await startSimulator(directory, scenarioFor(count), journal);
    const { adminKubeconfig } = controlPlane.access;
    const args = [mainProgram, 'run', '--kubeconfig', adminKubeconfig, '--log-level', 'warn'];
    operator = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    await makeSecrets(api, simulator, count);
    const posts = new FirstPosts(journal);
    const newPolicyToPost = await applyNew(api, posts, count);
    const { toPost, toStatus } = await retarget(api, posts, count);
    return {
      applies,
      newPolicyToPost: measured(newPolicyToPost),
      newTargetToPost: measured(toPost),
      newTargetToStatus: measured(toStatus),
    };
  } finally {
    if (operator) await ended(operator);
    await simulator?.stop();
    await api.close();
    await controlPlane.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function measured(samples: readonly number[]): number[] {
  return samples.slice(warmUps).sort((left, right) => left - right);
}

function userNames(kind: 'new' | 'old', count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index}`);
}

/** Returns a scenario in which each policy has its own user and its own collectors. */
function scenarioFor(count: number): Scenario {
  const names = [...userNames('new', count), ...userNames('old', count)];
  return {
    builds: ['19.300-1', firstTarget, secondTarget],
    users: Object.fromEntries(names.map((name) => [name, { keys: { [name]: 'key' }, groups: [name] }])),
    groups: Object.fromEntries(names.map((name) => [name, { count: collectorsEach, version: firstTarget }])),
  };
}

async function makeSecrets(api: ApiServer, { baseURL, caFile }: SimulatorProcess, count: number): Promise<void> {
  const authority = readFileSync(caFile, 'utf8');
  for (const name of [...userNames('new', count), ...userNames('old', count)]) {
    await api.applySecret(name, { baseURL, accessId: name, accessKey: 'key', 'ca.crt': authority });
  }
}

async function applyNew(api: ApiServer, posts: FirstPosts, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (const name of userNames('new', count)) {
    const sentMs = wallMs();
    await api.applyPolicy(name, secondTarget);
    samples.push((await posts.of(name)) - sentMs);
    await api.deletePolicy(name);
    await delay(pauseMs);
  }
  return samples;
}

/** Changes the target versions of the policies one at a time, and measures the latency after each change. */
async function retarget(api: ApiServer, posts: FirstPosts, count: number) {
  const names = userNames('old', count);
  const toPost: number[] = [];
  const toStatus: number[] = [];
  const watch = await api.watchPolicies(wallMs);
  for (const name of names) await api.applyPolicy(name, firstTarget);
  for (const name of names) await watch.until(name, ({ ready }) => ready, deadlineMs);
  // Waits, because earlier requests still count towards the request limit for a moment, and would delay the first
  // request of a policy.
  await delay(2_000);
  for (const name of names) {
    const sentMs = wallMs();
    await api.applyPolicy(name, secondTarget);
    toPost.push((await posts.of(name)) - sentMs);
    toStatus.push((await watch.until(name, ({ observedGeneration }) => observedGeneration === 2, deadlineMs)) - sentMs);
    await api.deletePolicy(name);
    await delay(pauseMs);
  }
  watch.close();
  return { toPost, toStatus };
}

/** Reads the time of each user's first upgrade request from the simulator's journal. */
class FirstPosts {
  readonly #file: string;
  readonly #arrivals = new Map<string, number>();
  #lines = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Waits for the first upgrade request from `user`. Returns its arrival time in fractional ms. */
  async of(user: string): Promise<number> {
    const endMs = wallMs() + deadlineMs;
    while (wallMs() < endMs) {
      this.#read();
      const atMs = this.#arrivals.get(user);
      if (atMs !== undefined) return atMs;
      await delay(pollMs);
    }
    throw new Error(`${user} did not create a task within ${deadlineMs} ms`);
  }

  #read(): void {
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(this.#lines)) {
      const { operation, user, at } = JSON.parse(line) as JournalEntry;
      if (operation === 'createTask' && user !== null && !this.#arrivals.has(user)) this.#arrivals.set(user, at);
    }
    this.#lines = lines.length;
  }
}

const originMs = Date.now() - performance.now();

function wallMs(): number {
  return originMs + performance.now();
}
