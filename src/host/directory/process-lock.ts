/**
 * Allows one process per directory, by a file that names its holder:
 * `{"pid":…,"processStart":…,"hostname":…,"scope":…,"since":…,"token":…}`.
 *
 * The complete file is linked into place, and the holder updates its modification time every `heartbeatMs`. Two cases allow a takeover:
 * - The holder is a process in our scope that is visibly dead: immediately.
 * - The holder is out of sight (another container, another machine, or before a reboot): after we saw no heartbeat for `silenceMs`,
 *   regardless of clocks.
 *
 * Invariant: a process that lost its file notices at the next heartbeat. A process that could not check its file for `silenceMs`, for
 * example after suspension, no longer holds the lock. `held` uses the clock that shows more elapsed time.
 */
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname as machineName } from 'node:os';
import { dirname, join } from 'node:path';
import { jsonReader, objectOf, text } from '../../api/json-shape.ts';
import { type Clock, elapsedMs, type Instant, instant, sleep, type Timer } from '../../base/clock.ts';
import { failure, LogfleetError } from '../../base/errors.ts';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../base/process-identity.ts';
import type { Random } from '../../base/random.ts';
import type { Leadership } from '../host.ts';
import { codeOf, diskError, isAbsent, makeFolder } from './durable-file.ts';
import type { StateDirectory } from './state-directory.ts';
import { createUid } from './uid.ts';

export const heartbeatMs = 5_000;
export const silenceMs = 30_000;
const pollIntervalMs = 2_000;
/** Each attempt ends with the lock, a refusal, or the lock of another process that was faster. The limit bounds the last case. */
const maxAttempts = 10;

interface Holder extends ProcessIdentity {
  readonly hostname: string;
  readonly since: string;
  /** Random text that identifies this holding of the lock. */
  readonly token: string;
}

interface ProcessLockOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Scope within which a pid can be looked up. Only tests set it. */
  readonly scope?: string;
}

export class ProcessLock {
  /** True if the former holder died without releasing the lock. */
  readonly tookOver: boolean;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #holder: Holder;
  readonly #listeners = new Set<() => void>();
  #timer: Timer | undefined;
  /** Time of the last check that found our own lock file. */
  #seenAt: Instant;
  #lost = false;

  /**
   * Takes the lock. Fails with `host.locked` (handling `stall`) if a living process holds it; the message names that process. Fails with
   * `host.disk` if the lock cannot be written.
   */
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

  /** Calls `listener` when the lock is lost, or held again after it could not be checked for a while. */
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
      // A disk that does not answer proves nothing. If that lasts, `held` becomes false by time.
    }
    if (this.held() !== wasHeld) for (const listener of this.#listeners) listener();
    if (!this.#lost) this.#scheduleHeartbeat();
  }
}

/**
 * Returns true if no process visibly holds the lock. A holder in another scope counts as alive here, since only a long silence proves its
 * death.
 */
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

/** Creates the lock file. Returns false if one exists. */
async function place(path: string, holder: Holder): Promise<boolean> {
  const draft = join(dirname(path), `.lock.${holder.token}.tmp`);
  await writeFile(draft, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    // ENOENT: the holder of the lock has deleted our temporary file.
    if (codeOf(error) === 'EEXIST' || isAbsent(error)) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes the lock file of a dead holder. Another process may have replaced the file meanwhile: then its file is put back. */
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
  if (other === 'unreadable' || other.scope !== us.scope) return showsHeartbeat(path, clock);
  return isRunning(other);
}

async function showsHeartbeat(path: string, clock: Clock): Promise<boolean> {
  const first = await changeTime(path);
  const untilMs = clock.monotonic() + silenceMs;
  while (clock.monotonic() < untilMs) {
    await sleep(clock, pollIntervalMs);
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
  try {
    return decodeHolder(await readFile(path, 'utf8')) ?? 'unreadable';
  } catch (error) {
    if (isAbsent(error)) return 'absent';
    throw error;
  }
}

const decodeHolder = jsonReader<Holder>(
  objectOf({
    pid: { type: 'integer', minimum: 1 },
    ...{ processStart: text, hostname: text, scope: text, since: text, token: text },
  }),
);

function isSame(left: Holder | 'unreadable' | 'absent', right: Holder | 'unreadable'): boolean {
  if (typeof left === 'string' || typeof right === 'string') return left === right;
  return left.token === right.token;
}

function lockedError(path: string, holder: Holder | 'unreadable' | 'absent'): LogfleetError {
  const holderName =
    typeof holder === 'string'
      ? 'another process'
      : `process ${holder.pid} on ${holder.hostname}, since ${holder.since},`;
  return failure(
    'stall',
    'host.locked',
    `${holderName} uses this directory (${path}): stop that process or wait until it ends, then start again`,
    { reason: 'DirectoryLocked' },
  );
}

/**
 * Leadership by lock: the process leads while it holds the locks of all its directories. Leadership is interrupted only if the machine was
 * suspended or a lock was taken away.
 */
export class DirectoryLeadership implements Leadership {
  readonly #locks: readonly ProcessLock[];
  readonly #tookOver: boolean;
  #term = 1;
  #led = true;
  readonly #listeners = new Set<() => void>();

  constructor(locks: readonly ProcessLock[]) {
    this.#locks = locks;
    this.#tookOver = locks.some(({ tookOver }) => tookOver);
    for (const lock of locks) lock.subscribe(() => this.#check());
  }

  isLeader(): boolean {
    return this.#locks.every((lock) => lock.held());
  }

  term(): number {
    return this.#term;
  }

  /**
   * Only the first term can follow another process. A later term follows our own suspension, and no other process sent requests meanwhile.
   */
  tookOverByForce(): boolean {
    return this.#term === 1 && this.#tookOver;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Updates the term when a lock changes. A lock also reports that it is held again after it had expired by the clock: that starts a new
   * term.
   */
  #check(): void {
    const leads = this.isLeader();
    if (leads) this.#term++;
    if (!leads && !this.#led) return;
    this.#led = leads;
    for (const listener of this.#listeners) listener();
  }
}
