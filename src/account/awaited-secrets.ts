/**
 * Reads Secrets for many resources. All reads of a Secret within five seconds share one request. When a Secret changes,
 * all resources that are waiting for the change are reconciled (C2).
 *
 * Invariants:
 * - Each call to `wait` wakes its resource at most once.
 * - At most 20 Secrets per second are read to detect changes.
 * - A Secret's values are in memory for at most five seconds. After that, only their digest is kept.
 */

import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { getOrAdd } from '../base/get-or-add.ts';
import { keyText } from '../base/key-text.ts';
import type { SecretText } from '../base/secret-text.ts';
import type { ResourceKey, SecretReader } from '../host/host.ts';

export type SecretContent = ReadonlyMap<string, SecretText> | undefined;

/**
 * Time in ms for which the result of reading a Secret is reused. Also the interval at which each awaited Secret is
 * read.
 */
const freshMs = 5_000;
const shortestDelayMs = 50;

interface SecretRead {
  readonly sentAtMs: number;
  readonly members: Promise<SecretContent>;
}

interface Awaited {
  readonly key: ResourceKey;
  readonly waiters: Set<string>;
  dueMs: number;
}

interface SecretWaiter {
  readonly secrets: readonly string[];
  readonly wake: () => void;
}

export interface AwaitedSecretsOptions {
  readonly secrets: SecretReader;
  readonly clock: Clock;
}

export class AwaitedSecrets {
  readonly #options: AwaitedSecretsOptions;
  readonly #reads = new Map<string, SecretRead>();
  /** Digest of each Secret's last known content. */
  readonly #digests = new Map<string, string>();
  /** Secrets that resources wait for, ordered by the time of the next read. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #waiters = new Map<string, SecretWaiter>();
  #changes = 0;
  #timer: Timer | undefined;
  #isReading = false;
  #isClosed = false;

  constructor(options: AwaitedSecretsOptions) {
    this.#options = options;
  }

  /** Reports whether environment variables replace this Secret. */
  takesVariables(key: ResourceKey): boolean {
    return this.#options.secrets.takesVariables?.(key) ?? false;
  }

  /**
   * Returns the content of a Secret, or undefined if the Secret does not exist. Rejects if the Secret cannot be read.
   * An earlier result is reused only if its read began after `sentAfterMs` (monotonic time).
   */
  get(key: ResourceKey, sentAfterMs = Number.NEGATIVE_INFINITY): Promise<SecretContent> {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#reads.get(keyText(key));
    if (known && known.sentAtMs > sentAfterMs && nowMs - known.sentAtMs < freshMs) return known.members;
    return this.#read(key, nowMs);
  }

  /**
   * Number of changes to Secrets that this process has noticed so far. Read this number before you read Secrets, and
   * pass it to `wait`. `wait` then also detects changes that were noticed after the read.
   */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Calls `wake` once, when one of the given Secrets changes. If any Secret has changed since the caller read the
   * property `changes`, calls `wake` immediately. Each call to `wait` replaces the resource's earlier wait. A call with
   * an empty list of Secrets only ends the earlier wait.
   * @param changes value of the property `changes` that the caller read before it read the Secrets
   */
  wait(waiter: string, secrets: readonly ResourceKey[], changes: number, wake: () => void): void {
    this.leave(waiter);
    if (secrets.length === 0 || this.#isClosed) return;
    if (changes !== this.#changes) {
      wake();
      return;
    }
    this.#waiters.set(waiter, { secrets: secrets.map(keyText), wake });
    for (const key of secrets) {
      this.#expect(key).waiters.add(waiter);
      // If this process does not know the content of the Secret, it stores a placeholder digest. The next read of the
      // Secret then counts as a change.
      if (!this.#digests.has(keyText(key))) this.#digests.set(keyText(key), 'forgotten');
    }
    this.#scheduleRead();
  }

  leave(waiter: string): void {
    for (const name of this.#waiters.get(waiter)?.secrets ?? []) {
      const awaited = this.#awaited.get(name);
      awaited?.waiters.delete(waiter);
      if (awaited?.waiters.size === 0) this.#forget(name);
    }
    this.#waiters.delete(waiter);
  }

  /** Ends all waits, for example when this process loses its leadership. */
  leaveAll(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#awaited.clear();
    this.#waiters.clear();
  }

  close(): void {
    this.#isClosed = true;
    this.leaveAll();
  }

  #read(key: ResourceKey, sentAtMs: number): Promise<SecretContent> {
    const name = keyText(key);
    const members = this.#options.secrets.get(key);
    const read = { sentAtMs, members };
    // Deletes the earlier read first, so that the new read is added at the end, and the map stays ordered by time.
    this.#reads.delete(name);
    this.#reads.set(name, read);
    this.#dropStale(sentAtMs);
    members.then(
      (found) => this.#note(name, digestOf(found)),
      (error: unknown) => {
        // After a temporary error, the next caller reads the Secret again. An error that a user must fix is returned to
        // all callers for five seconds.
        if (needsPerson(error)) this.#note(name, `failed: ${error.code}`);
        else if (this.#reads.get(name) === read) this.#reads.delete(name);
      },
    );
    return members;
  }

  #dropStale(nowMs: number): void {
    for (const [name, { sentAtMs }] of this.#reads) {
      if (nowMs - sentAtMs < freshMs) return;
      this.#reads.delete(name);
      if (!this.#awaited.has(name)) this.#digests.delete(name);
    }
  }

  #note(name: string, digest: string): void {
    const before = this.#digests.get(name);
    this.#digests.set(name, digest);
    if (before === undefined || before === digest || !this.#awaited.has(name)) return;
    this.#changes++;
    for (const waiter of [...(this.#awaited.get(name)?.waiters ?? [])]) {
      const wake = this.#waiters.get(waiter)?.wake;
      this.leave(waiter);
      wake?.();
    }
  }

  #expect(key: ResourceKey): Awaited {
    const name = keyText(key);
    return getOrAdd(this.#awaited, name, () => {
      const sentAtMs = this.#reads.get(name)?.sentAtMs ?? this.#options.clock.monotonic();
      return { key, waiters: new Set(), dueMs: sentAtMs + freshMs };
    });
  }

  #forget(name: string): void {
    this.#awaited.delete(name);
    if (!this.#reads.has(name)) this.#digests.delete(name);
    if (this.#awaited.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #scheduleRead(): void {
    const [next] = this.#awaited.values();
    if (!next || this.#timer || this.#isReading) return;
    const { clock } = this.#options;
    this.#timer = clock.after(Math.max(shortestDelayMs, next.dueMs - clock.monotonic()), () => {
      this.#timer = undefined;
      void this.#readNext();
    });
  }

  /** Reads the Secret whose next read is due first. */
  async #readNext(): Promise<void> {
    const [next] = this.#awaited;
    if (!next) return;
    const [name, awaited] = next;
    this.#isReading = true;
    const nowMs = this.#options.clock.monotonic();
    awaited.dueMs = nowMs + freshMs;
    // Moves the Secret to the end, so that the map stays ordered by the time of the next read.
    this.#awaited.delete(name);
    this.#awaited.set(name, awaited);
    await this.#read(awaited.key, nowMs).catch(() => undefined);
    this.#isReading = false;
    this.#scheduleRead();
  }
}

function needsPerson(error: unknown): error is LogfleetError {
  return error instanceof LogfleetError && error.handling.kind === 'stall';
}

function digestOf(members: SecretContent): string {
  if (!members) return 'missing';
  const texts = [...members].map(([name, text]) => [name, text.reveal()]).sort();
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}
