/**
 * Secrets as all resources read them: one read serves everybody who asks within five seconds, and a Secret that resources wait for is
 * read once in five seconds until it changes. Then all of its waiters are woken (C2).
 *
 * Invariants: a waiter is woken at most once for each call of `wait`. At most 20 reads a second look for changes, however many Secrets are
 * awaited. No value of a Secret is kept longer than its read is fresh; what is compared is a digest.
 */
import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { SecretText } from '../base/secret-text.ts';
import type { ResourceKey, SecretReader } from '../host/host.ts';

export type SecretMembers = ReadonlyMap<string, SecretText> | undefined;

/** How long a read serves those who come after it, and how long after a read an awaited Secret is read again. */
const freshMs = 5_000;
const shortestDelayMs = 50;

interface Read {
  readonly sentAtMs: number;
  readonly members: Promise<SecretMembers>;
}

interface Awaited {
  readonly key: ResourceKey;
  readonly waiters: Set<string>;
  dueMs: number;
}

interface Waiter {
  readonly secrets: readonly string[];
  readonly wake: () => void;
}

export interface AwaitedSecretsOptions {
  readonly secrets: SecretReader;
  readonly clock: Clock;
}

export class AwaitedSecrets {
  readonly #options: AwaitedSecretsOptions;
  readonly #reads = new Map<string, Read>();
  /** Of the newest read of each Secret that was read since it is awaited, or that is. */
  readonly #digests = new Map<string, string>();
  /** In the order in which they are due. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #waiters = new Map<string, Waiter>();
  #changes = 0;
  #timer: Timer | undefined;
  #isLooking = false;
  #isClosed = false;

  constructor(options: AwaitedSecretsOptions) {
    this.#options = options;
  }

  /** Whether variables of the environment stand in for this Secret. */
  takesVariables(key: ResourceKey): boolean {
    return this.#options.secrets.takesVariables?.(key) ?? false;
  }

  /**
   * The members of a Secret, or undefined when there is none. Rejects with what the read rejected with. `sentAfterMs`: a read that was not
   * sent after this moment of the monotonic clock does not do.
   */
  get(key: ResourceKey, sentAfterMs = Number.NEGATIVE_INFINITY): Promise<SecretMembers> {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#reads.get(nameOf(key));
    if (known && known.sentAtMs > sentAfterMs && nowMs - known.sentAtMs < freshMs) return known.members;
    return this.#read(key, nowMs);
  }

  /** Goes up with each change that is seen of an awaited Secret. To be taken before the read that `wait` follows. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * `wake` is called once, as soon as one of these Secrets is seen to be another than when it was read last. Replaces what this waiter
   * waited for; no Secrets: it waits no more. `changes`: as they were before the Secrets were read; a change since then wakes at once.
   */
  wait(waiter: string, secrets: readonly ResourceKey[], changes: number, wake: () => void): void {
    this.leave(waiter);
    if (secrets.length === 0 || this.#isClosed) return;
    if (changes !== this.#changes) {
      wake();
      return;
    }
    this.#waiters.set(waiter, { secrets: secrets.map(nameOf), wake });
    for (const key of secrets) {
      this.#expect(key).waiters.add(waiter);
      // A read that is forgotten by now may have shown something else: the next one wakes the waiter, to be sure.
      if (!this.#digests.has(nameOf(key))) this.#digests.set(nameOf(key), 'forgotten');
    }
    this.#lookLater();
  }

  /** Of a resource that waits no more, or is gone. */
  leave(waiter: string): void {
    for (const name of this.#waiters.get(waiter)?.secrets ?? []) {
      const awaited = this.#awaited.get(name);
      awaited?.waiters.delete(waiter);
      if (awaited?.waiters.size === 0) this.#forget(name);
    }
    this.#waiters.delete(waiter);
  }

  /** As when this process leads no longer: whoever leads reads Secrets, and nobody else. */
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

  #read(key: ResourceKey, sentAtMs: number): Promise<SecretMembers> {
    const name = nameOf(key);
    const members = this.#options.secrets.get(key);
    const read = { sentAtMs, members };
    // The last in order, which is that of their times.
    this.#reads.delete(name);
    this.#reads.set(name, read);
    this.#tidy(sentAtMs);
    members.then(
      (found) => this.#note(name, digestOf(found)),
      (error: unknown) => {
        // What passes by itself is tried again by whoever asked; what a person has to mend is not asked for again so soon.
        if (isForPeople(error)) this.#note(name, `failed: ${error.code}`);
        else if (this.#reads.get(name) === read) this.#reads.delete(name);
      },
    );
    return members;
  }

  /** Values are kept no longer than they serve. */
  #tidy(nowMs: number): void {
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
    const name = nameOf(key);
    const known = this.#awaited.get(name);
    if (known) return known;
    const sentAtMs = this.#reads.get(name)?.sentAtMs ?? this.#options.clock.monotonic();
    const awaited = { key, waiters: new Set<string>(), dueMs: sentAtMs + freshMs };
    this.#awaited.set(name, awaited);
    return awaited;
  }

  #forget(name: string): void {
    this.#awaited.delete(name);
    if (!this.#reads.has(name)) this.#digests.delete(name);
    if (this.#awaited.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #lookLater(): void {
    const [next] = this.#awaited.values();
    if (!next || this.#timer || this.#isLooking) return;
    const { clock } = this.#options;
    this.#timer = clock.after(Math.max(shortestDelayMs, next.dueMs - clock.monotonic()), () => {
      this.#timer = undefined;
      void this.#look();
    });
  }

  /** Reads the Secret that is due first. */
  async #look(): Promise<void> {
    const [next] = this.#awaited;
    if (!next) return;
    const [name, awaited] = next;
    this.#isLooking = true;
    const nowMs = this.#options.clock.monotonic();
    awaited.dueMs = nowMs + freshMs;
    // The last in the queue now.
    this.#awaited.delete(name);
    this.#awaited.set(name, awaited);
    await this.#read(awaited.key, nowMs).catch(() => undefined);
    this.#isLooking = false;
    this.#lookLater();
  }
}

function isForPeople(error: unknown): error is LogfleetError {
  return error instanceof LogfleetError && error.handling.kind === 'stall';
}

function digestOf(members: SecretMembers): string {
  if (!members) return 'missing';
  const texts = [...members].map(([name, text]) => [name, text.reveal()]).sort();
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}
