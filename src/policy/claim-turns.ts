/**
 * Who has to claim its collectors before others may start anything (U13): of a service, every policy that can.
 *
 *   (unknown) ──► claiming ──► claimed
 *       │            │ ▲
 *       └► excused ◄─┘ │       by trouble that keeps it from claiming: nobody waits for it
 *             └────────┘       once that may be over: it looks again, and the others wait for what it finds
 *
 * Invariant: an excuse holds for the text of the policy that it was made for, and only until somebody's trouble is over.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { ResourceKey } from '../host/host.ts';

type Turn =
  | { readonly kind: 'claiming' | 'claimed'; readonly host: string }
  | { readonly kind: 'excused'; readonly generation: number; readonly excusedWhile: () => boolean };

export interface ClaimTurnsOptions {
  readonly policies: () => Iterable<CollectorVersionPolicy>;
  /** The policy should look again: its turn may have come. */
  readonly enqueue: (key: ResourceKey) => void;
}

export class ClaimTurns {
  readonly #options: ClaimTurnsOptions;
  /** By uid of the policy. */
  readonly #turns = new Map<string, Turn>();
  readonly #troubled = new Set<string>();
  /** Policies that wait for others to claim, by name. */
  readonly #held = new Map<string, ResourceKey>();
  /** Spares looking at every policy once all have claimed. */
  #allClaimed = false;

  constructor(options: ClaimTurnsOptions) {
    this.#options = options;
  }

  /** A policy that was not known may have to claim. */
  expect(uid: string): void {
    if (!this.#turns.has(uid)) this.#allClaimed = false;
  }

  /** The policy belongs to this service, and will claim of its collectors. An excuse holds on until that is in sight (`resumes`). */
  claiming(uid: string, serviceId: string): void {
    if (this.#turns.get(uid)?.kind !== 'excused') this.resumes(uid, serviceId);
  }

  /** Nothing keeps the policy from claiming but the time that its first sweep takes. */
  resumes(uid: string, serviceId: string): void {
    const { host } = new URL(serviceId);
    const turn = this.#turns.get(uid);
    if (turn && turn.kind !== 'excused' && turn.host === host) return;
    this.#turns.set(uid, { kind: 'claiming', host });
    this.#allClaimed = false;
  }

  /** The policy has claimed all that it selects of this service. */
  claimed(uid: string, serviceId: string): void {
    const { host } = new URL(serviceId);
    const turn = this.#turns.get(uid);
    if (turn?.kind === 'claimed' && turn.host === host) return;
    this.#turns.set(uid, { kind: 'claimed', host });
    this.#release();
  }

  /** The policy, as it reads now, can claim nothing for as long as this holds. What it claimed before stands. */
  excuse({ metadata }: CollectorVersionPolicy, excusedWhile: () => boolean): void {
    const { uid, generation } = metadata;
    if (this.#turns.get(uid)?.kind === 'claimed') return;
    this.#turns.set(uid, { kind: 'excused', generation, excusedWhile });
    this.#release();
  }

  /** The policy cannot use its service. */
  troubled(uid: string): void {
    this.#troubled.add(uid);
  }

  /** It can: the trouble of others may be over, too. They claim before anybody goes on. */
  usable(uid: string): void {
    if (!this.#troubled.delete(uid)) return;
    for (const { metadata } of this.#options.policies()) {
      if (this.#turns.get(metadata.uid)?.kind !== 'excused') continue;
      this.#turns.delete(metadata.uid);
      this.#options.enqueue({ namespace: metadata.namespace, name: metadata.name });
    }
  }

  /** Whom a policy of this service waits for before it may start anything, in words; undefined where it need not. It is told of the end. */
  heldBy(key: ResourceKey, serviceId: string): string | undefined {
    if (this.#allClaimed) return undefined;
    const { host } = new URL(serviceId);
    let all = true;
    for (const { metadata } of this.#options.policies()) {
      const turn = this.#turns.get(metadata.uid);
      if (turn?.kind === 'claimed') continue;
      all = false;
      if (turn?.kind === 'claiming' && turn.host !== host) continue;
      if (turn?.kind === 'excused' && turn.generation === metadata.generation && turn.excusedWhile()) continue;
      this.#held.set(nameOf(key), key);
      return `policy ${metadata.namespace}/${metadata.name} to claim its collectors first`;
    }
    this.#allClaimed = all;
    return undefined;
  }

  /** The policy is gone, and nobody waits for it. */
  forget(key: ResourceKey, uid: string | undefined): void {
    if (uid !== undefined) {
      this.#turns.delete(uid);
      this.#troubled.delete(uid);
    }
    this.#held.delete(nameOf(key));
    this.#release();
  }

  /** Another term of leadership has begun. */
  reset(): void {
    this.#turns.clear();
    this.#troubled.clear();
    this.#allClaimed = false;
  }

  #release(): void {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const key of held) this.#options.enqueue(key);
  }
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `${namespace}/${name}`;
}
