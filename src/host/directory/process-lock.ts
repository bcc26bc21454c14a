/**
 * One process at a time per directory: a file that says who holds it, `{"pid":…,"processStart":…,"hostname":…,"scope":…,"since":…,"token":…}`.
 *
 * The file appears whole (it is linked into place), and its time of change moves every `heartbeatMs`. It is taken over at once
 * from a process that we can see to be dead; and from one that we cannot see (in another container, on another machine, before
 * a reboot) after it did not move for `silenceMs` before our eyes, whatever the clocks say.
 *
 * Invariant: a process that lost its file to another finds out at the next heartbeat. A process that could not look for `silenceMs`, as
 * after its machine slept, no longer counts as holding it: `held` is by the clock that shows more time.
 */
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname as machineName } from 'node:os';
import { dirname, join } from 'node:path';
import { type Clock, elapsedMs, type Instant, instant, sleep, type Timer } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../base/process-identity.ts';
import type { Random } from '../../base/random.ts';
import { codeOf, diskError, isAbsent, makeFolder } from './durable-file.ts';
import { isRecord } from './plain-data.ts';
import type { StateDirectory } from './state-directory.ts';
import { createUid } from './uid.ts';

export const heartbeatMs = 5_000;
export const silenceMs = 30_000;
const lookEveryMs = 2_000;
/** Each attempt ends in the lock, in a refusal, or in the lock of somebody who came first; others can only come first so often. */
const maxAttempts = 10;

interface Holder extends ProcessIdentity {
  readonly hostname: string;
  readonly since: string;
  /** Tells one holding apart from all others. */
  readonly token: string;
}

export interface ProcessLockOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Within what our pid can be looked up; only tests give another than where we are. */
  readonly scope?: string;
}

export class ProcessLock {
  /** Whether the one before us died without releasing it. */
  readonly tookOver: boolean;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #holder: Holder;
  readonly #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  /** When the file was last seen to be ours. */
  #seenAt: Instant;
  #lost = false;

  /** `host.locked` (handling `stall`) when a living process holds it; the message names it. `host.disk` when it cannot be written. */
  static async acquire(state: StateDirectory, options: ProcessLockOptions): Promise<ProcessLock> {
    try {
      await makeFolder(state.folder);
      return await ProcessLock.#acquire(state.lockFile, options);
    } catch (error) {
      throw error instanceof LogfleetError ? error : diskError('write', state.lockFile, error);
    }
  }

  static async #acquire(path: string, options: ProcessLockOptions): Promise<ProcessLock> {
    const holder = await describeOurselves(options);
    let tookOver = false;
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      if (await place(path, holder)) return new ProcessLock(path, holder, options.clock, tookOver);
      const other = await readHolder(path);
      if (other === 'absent') continue;
      if (await isAlive(path, other, holder, options.clock)) throw lockedError(path, other);
      await moveAside(path, other, holder.token);
      tookOver = true;
    }
    throw lockedError(path, await readHolder(path));
  }

  private constructor(path: string, holder: Holder, clock: Clock, tookOver: boolean) {
    this.tookOver = tookOver;
    this.#path = path;
    this.#holder = holder;
    this.#clock = clock;
    this.#seenAt = instant(clock);
    this.#scheduleHeartbeat();
  }

  held(): boolean {
    return !this.#lost && elapsedMs(this.#clock, this.#seenAt) < silenceMs;
  }

  /** Calls `listener` when the lock was lost, or counts as held again after it could not be seen for a while. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async release(): Promise<void> {
    this.#timer?.cancel();
    const wasLost = this.#lost;
    this.#lost = true;
    const holder = await readHolder(this.#path).catch(() => 'absent' as const);
    if (!wasLost && isSame(holder, this.#holder)) await rm(this.#path, { force: true });
  }

  #scheduleHeartbeat(): void {
    this.#timer = this.#clock.after(heartbeatMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const wasHeld = this.held();
    const startedAt = instant(this.#clock);
    try {
      const holder = await readHolder(this.#path);
      if (isSame(holder, this.#holder)) {
        const now = this.#clock.now() / 1000;
        await utimes(this.#path, now, now);
        this.#seenAt = startedAt;
      } else this.#lost = true;
    } catch {
      // A disk that does not answer tells nothing: `held` ends by itself when that lasts.
    }
    if (this.held() !== wasHeld) for (const listener of this.#listeners) listener();
    if (!this.#lost) this.#scheduleHeartbeat();
  }
}

/** Whether it can be seen at once that nobody holds it: of a process elsewhere only time tells, and it counts as living here. */
export async function isSurelyFree({ lockFile }: StateDirectory): Promise<boolean> {
  const holder = await readHolder(lockFile).catch(() => 'unreadable' as const);
  if (holder === 'absent') return true;
  if (holder === 'unreadable' || holder.scope !== (await ownIdentity()).scope) return false;
  return !(await isRunning(holder));
}

async function describeOurselves({ clock, random, scope }: ProcessLockOptions): Promise<Holder> {
  const identity = await ownIdentity();
  return {
    ...identity,
    scope: scope ?? identity.scope,
    hostname: machineName(),
    since: new Date(clock.now()).toISOString(),
    token: createUid(random),
  };
}

/** Puts the lock file there, unless there is one. */
async function place(path: string, holder: Holder): Promise<boolean> {
  const draft = join(dirname(path), `.lock.${holder.token}.tmp`);
  await writeFile(draft, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    // ENOENT: whoever holds the lock has tidied up our draft.
    if (codeOf(error) === 'EEXIST' || isAbsent(error)) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Takes away the file of a dead holder. Whoever else found it dead may have put its own there meanwhile: then that one is put
 * back.
 */
async function moveAside(path: string, dead: Holder | 'unreadable', token: string): Promise<void> {
  const aside = join(dirname(path), `.lock.${token}.old.tmp`);
  try {
    await rename(path, aside);
    if (!isSame(await readHolder(aside), dead)) await link(aside, path);
  } catch (error) {
    if (!isAbsent(error) && codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function isAlive(path: string, other: Holder | 'unreadable', us: Holder, clock: Clock): Promise<boolean> {
  if (other === 'unreadable' || other.scope !== us.scope) return movesBeforeOurEyes(path, clock);
  return isRunning(other);
}

async function movesBeforeOurEyes(path: string, clock: Clock): Promise<boolean> {
  const first = await changeTime(path);
  const untilMs = clock.monotonic() + silenceMs;
  while (clock.monotonic() < untilMs) {
    await sleep(clock, lookEveryMs);
    if ((await changeTime(path)) !== first) return true;
  }
  return false;
}

async function changeTime(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}

async function readHolder(path: string): Promise<Holder | 'unreadable' | 'absent'> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return 'absent';
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return 'unreadable';
    const { pid, processStart, hostname, scope, since, token } = value;
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return 'unreadable';
    const texts = { processStart, hostname, scope, since, token };
    if (!Object.values(texts).every((text) => typeof text === 'string')) return 'unreadable';
    return { pid, ...(texts as Record<keyof typeof texts, string>) };
  } catch {
    return 'unreadable';
  }
}

function isSame(left: Holder | 'unreadable' | 'absent', right: Holder | 'unreadable'): boolean {
  if (typeof left === 'string' || typeof right === 'string') return left === right;
  return left.token === right.token;
}

function lockedError(path: string, holder: Holder | 'unreadable' | 'absent'): LogfleetError {
  const who =
    typeof holder === 'string'
      ? 'another process'
      : `process ${holder.pid} on ${holder.hostname}, since ${holder.since},`;
  return new LogfleetError({
    code: 'host.locked',
    reason: 'DirectoryLocked',
    handling: { kind: 'stall' },
    message: `${who} is at work in this directory (${path}): stop it, or wait until it ends, and start again`,
  });
}
