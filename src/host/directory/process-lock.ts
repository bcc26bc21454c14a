/**
 * Lock that allows only one operator process per manifest directory. The lock file describes its holder:
 * `{"pid":…,"processStart":…,"hostname":…,"scope":…,"since":…,"token":…}`.
 *
 * The holder updates the modification time of the lock file every `lockHeartbeatMs`. Another process may take over the
 * lock from a dead holder:
 * - immediately, if both run on the same machine or in the same container (`scope`), where the process id can be
 *   checked;
 * - otherwise, when the lock file has not changed for `silenceMs`.
 *
 * A process that has lost the lock to another process notices the loss at its next heartbeat, and must end. A process
 * whose heartbeats fail gives up the lock after `silenceMs`, and has the lock again after its next heartbeat.
 */

import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname as machineName } from 'node:os';
import { dirname, join } from 'node:path';
import type { Explanation } from '../../api/finding.ts';
import { jsonReader, objectOf, textShape } from '../../api/json-shape.ts';
import { type Clock, elapsedMs, type Instant, instant, sleep, type Timer } from '../../base/clock.ts';
import { failure, isFileAbsent, LogfleetError, messageOf, systemCode } from '../../base/errors.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Logger } from '../../base/log.ts';
import type { Ports } from '../../base/ports.ts';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../base/process-identity.ts';
import { createUid } from '../../base/random.ts';
import { isoText } from '../../base/time-text.ts';
import type { Leadership } from '../host.ts';
import { directoryError, makeState } from './durable-file.ts';
import { StateDirectory } from './state-directory.ts';

export const lockHeartbeatMs = 5_000;
export const silenceMs = 30_000;
const pollIntervalMs = 2_000;
/** Maximum number of attempts to take the lock while other processes compete for it. */
const maxAttempts = 10;

interface Holder extends ProcessIdentity {
  readonly hostname: string;
  readonly since: string;
  /** Random text in the lock file. A process recognizes its own lock by this text. */
  readonly token: string;
}

interface ProcessLockOptions extends Pick<Ports, 'clock' | 'random'> {
  readonly log?: Logger;
  /** Aborts the wait for the heartbeat of another process. `acquire` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Id of the machine or container within which process ids are unique. Only tests set this option. */
  readonly scope?: string;
}

export class ProcessLock {
  /** True if this process took the lock from a holder that died without releasing it. */
  readonly tookOver: boolean;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #holder: Holder;
  readonly #listeners = new Listeners();
  readonly #lostTo = Promise.withResolvers<LogfleetError>();
  /** Resolves with an error when another process has taken the lock. */
  readonly lost: Promise<LogfleetError> = this.#lostTo.promise;
  #timer: Timer | undefined;
  /** Last time at which this process read the lock file and was still named as the holder of the lock. */
  #seenAt: Instant;
  #lost = false;
  /** Result of `held` at the last heartbeat. */
  #wasHeld = true;
  #problem: Explanation | undefined;

  /**
   * Takes the lock of a manifest directory. Fails with `host.locked` (handling `stall`) if a live process holds the
   * lock, and with `host.disk` if the lock cannot be written.
   */
  static async acquire(state: StateDirectory, options: ProcessLockOptions): Promise<ProcessLock> {
    try {
      await makeState(state);
      return await ProcessLock.#acquire(state.lockFile, options);
    } catch (error) {
      if (error instanceof LogfleetError || options.signal?.aborted) throw error;
      throw directoryError('write', state.lockFile, error);
    }
  }

  static async #acquire(path: string, options: ProcessLockOptions): Promise<ProcessLock> {
    const { clock } = options;
    const holder = await describeOurselves(options);
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      if (await place(path, holder)) return new ProcessLock(path, holder, clock, false);
      const other = await readHolder(path);
      if (other === 'absent') continue;
      if (await isAlive(path, other, holder, options)) throw lockedError(path, other);
      if (await takeOver(path, other, holder, options)) return new ProcessLock(path, holder, clock, true);
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

  /** Reason why the last update of the lock file (heartbeat) failed. Undefined if the update succeeded. */
  get problem(): Explanation | undefined {
    return this.#problem;
  }

  /** Calls `listener` when this process loses or regains the lock. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Removes the lock file. Never rejects, because a lock file that cannot be removed does no harm: the next process
   * notices that the holder of the lock has ended.
   */
  async release(): Promise<void> {
    this.#timer?.cancel();
    const wasLost = this.#lost;
    this.#lost = true;
    const holder = await readHolder(this.#path).catch(() => 'absent' as const);
    if (!wasLost && isSame(holder, this.#holder)) await rm(this.#path, { force: true }).catch(() => {});
  }

  #scheduleHeartbeat(): void {
    this.#timer = this.#clock.after(lockHeartbeatMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const hadLapsed = !this.held();
    const startedAt = instant(this.#clock);
    try {
      const holder = await readHolder(this.#path);
      if (isSame(holder, this.#holder)) {
        const now = this.#clock.now() / 1000;
        await utimes(this.#path, now, now);
        this.#seenAt = startedAt;
        this.#problem = undefined;
      } else if (holder !== 'absent') {
        // Only a lock file of another process proves that the lock is lost. If the file is missing, the directory may be
        // unmounted (D2), so the lock counts as lost only after `silenceMs`.
        this.#lost = true;
        this.#lostTo.resolve(takenError(this.#path, holder));
      }
    } catch (error) {
      // If the lock file is unreadable, this process may still hold the lock. The lock counts as lost only after
      // `silenceMs`.
      const problem = `the lock file cannot be updated (${messageOf(error)}), so logfleet stops sending requests to the service after ${silenceMs / 1_000} s`;
      this.#problem = { problem, remedy: 'make the file readable and writable' };
    }
    const isHeld = this.held();
    const isChanged = isHeld !== this.#wasHeld || (isHeld && hadLapsed);
    this.#wasHeld = isHeld;
    if (isChanged) this.#listeners.notify();
    if (!this.#lost) this.#scheduleHeartbeat();
  }
}

/**
 * Fails with `host.locked` (handling `stall`) if a live process holds the lock of the directory `used`, which contains
 * `directory` or is inside it (D6).
 */
export async function refuseOverlap(used: string, directory: string, options: ProcessLockOptions): Promise<void> {
  const { lockFile } = new StateDirectory(used);
  const other = await readHolder(lockFile).catch((cause: unknown) => {
    throw directoryError('read', lockFile, cause);
  });
  if (other === 'absent' || !(await isAlive(lockFile, other, await describeOurselves(options), options))) return;
  const message =
    `${nameOf(other)} is using ${used}, which overlaps with ${directory}, so two processes would manage the same resources: ` +
    'stop that process, or choose directories that do not contain each other';
  throw failure('stall', 'host.locked', message, { reason: 'DirectoryLocked' });
}

/**
 * Reports whether it is certain that no process holds the lock. If a process on another machine or in another container
 * wrote the lock file, returns false, because that process cannot be checked.
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
    since: isoText(clock.now()),
    token: createUid(random),
  };
}

/** Creates the lock file. Returns false if a lock file already exists. */
async function place(path: string, holder: Holder): Promise<boolean> {
  const temporary = join(dirname(path), `.lock.${holder.token}.tmp`);
  await writeFile(temporary, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    // ENOENT means that another process has taken the lock and deleted this process's temporary file.
    if (systemCode(error) === 'EEXIST' || isFileAbsent(error)) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true }).catch(() => {});
  }
}

/**
 * Replaces the lock file of a dead process. Returns false if the lock file has changed in the meantime. Several
 * processes may try this at the same time, but only the process that creates the claim file replaces the lock file. A
 * slow process can therefore not replace the lock file of a new holder.
 */
async function takeOver(
  path: string,
  dead: Holder | 'unreadable',
  us: Holder,
  options: ProcessLockOptions,
): Promise<boolean> {
  const claim = join(dirname(path), `.lock.${dead === 'unreadable' ? dead : dead.token}.claim.tmp`);
  if (!(await place(claim, us))) {
    const other = await readHolder(claim);
    if (other === 'absent') return false;
    if (await isAlive(claim, other, us, options)) throw lockedError(path, other);
    await rm(claim, { force: true });
    return false;
  }
  if (!isSame(await readHolder(path), dead)) {
    await rm(claim, { force: true });
    return false;
  }
  try {
    await rename(claim, path);
  } catch (error) {
    if (!isFileAbsent(error)) throw error;
  }
  return isSame(await readHolder(path), us);
}

async function isAlive(
  path: string,
  other: Holder | 'unreadable',
  us: Holder,
  options: ProcessLockOptions,
): Promise<boolean> {
  if (other !== 'unreadable' && other.scope === us.scope) return isRunning(other);
  options.log?.info(
    `waiting up to ${silenceMs / 1_000} s, because ${nameOf(other)} may still be using this directory (${path})`,
  );
  return showsHeartbeat(path, options);
}

async function showsHeartbeat(path: string, { clock, signal }: ProcessLockOptions): Promise<boolean> {
  const first = await changeTime(path);
  const untilMs = clock.monotonic() + silenceMs;
  while (clock.monotonic() < untilMs) {
    await sleep(clock, pollIntervalMs, signal);
    if ((await changeTime(path)) !== first) return true;
  }
  return false;
}

async function changeTime(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isFileAbsent(error)) return 0;
    throw error;
  }
}

async function readHolder(path: string): Promise<Holder | 'unreadable' | 'absent'> {
  try {
    return decodeHolder(await readFile(path, 'utf8')) ?? 'unreadable';
  } catch (error) {
    if (isFileAbsent(error)) return 'absent';
    throw error;
  }
}

const decodeHolder = jsonReader<Holder>(
  objectOf({
    pid: { type: 'integer', minimum: 1 },
    ...{ processStart: textShape, hostname: textShape, scope: textShape, since: textShape, token: textShape },
  }),
);

function isSame(left: Holder | 'unreadable' | 'absent', right: Holder | 'unreadable'): boolean {
  if (typeof left === 'string' || typeof right === 'string') return left === right;
  return left.token === right.token;
}

function lockedError(path: string, holder: Holder | 'unreadable' | 'absent'): LogfleetError {
  const message = `${nameOf(holder)} is using this directory (${path}): stop that process or wait until it ends, then start again`;
  return failure('stall', 'host.locked', message, { reason: 'DirectoryLocked' });
}

function takenError(path: string, holder: Holder | 'unreadable'): LogfleetError {
  const message =
    `${nameOf(holder)} has taken over this directory (${path}), so this process ends. ` +
    `This happens if a process does not update the lock file for ${silenceMs / 1_000} s, for example because it was suspended. ` +
    'To continue here, stop the other process, then start again.';
  return failure('stall', 'host.locked', message, { reason: 'DirectoryLocked' });
}

function nameOf(holder: Holder | 'unreadable' | 'absent'): string {
  if (typeof holder === 'string') return 'another process';
  return `process ${holder.pid} on host ${holder.hostname}, which has been running since ${holder.since},`;
}

/**
 * Leadership of an operator that runs on directories. The operator leads while it holds the locks of all directories.
 */
export class DirectoryLeadership implements Leadership {
  readonly #locks: readonly ProcessLock[];
  readonly #tookOver: boolean;
  #term = 1;
  #led = true;
  readonly #listeners = new Listeners();

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
   * Reports whether this process took over a lock from a process that died without releasing the lock. Always returns
   * false after this process's first term as the leader.
   */
  tookOverByForce(): boolean {
    return this.#term === 1 && this.#tookOver;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Updates the leadership after this process has lost or regained a lock. */
  #check(): void {
    const leads = this.isLeader();
    if (leads) this.#term++;
    if (!leads && !this.#led) return;
    this.#led = leads;
    this.#listeners.notify();
  }
}
