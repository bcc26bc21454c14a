/**
 * Whether another operator follows the same resources, as when a cluster-wide and a namespaced installation overlap (L2). Each
 * operator leaves a mark in the status of each resource, `status.operators`, which the others see by the watch that they have anyway.
 *
 * ```
 *   unknown ── its mark changes while we look ──▶ alive ── asked after ten minutes of silence ──▶ asked
 *      │                                            ▲                                             │  │
 *      └── asked (our own mark is new) ──▶ asked ───┴────────────── its mark changes ─────────────┘  │
 *                                            └── no change for a minute ──▶ gone ◀───────────────────┘
 * ```
 *
 * Invariants:
 * - Only the operator whose mark is the earliest acts on a resource. To the others the resource does not exist.
 * - At rest nothing is written; with two operators, one question and one answer in ten minutes.
 * - The kinds know nothing of marks: they are taken off what is read, and put on what is written.
 */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../../api/conditions.ts';
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Gauge, Metrics } from '../../base/metrics.ts';
import type { EventSink, Leadership, ResourceKey, ResourceSource } from '../host.ts';
import { hasCode } from './api-error.ts';

/** Mark of one operator in a resource's status. Times are RFC 3339 with milliseconds, so they can be compared as text. */
interface OperatorMark {
  /** Namespace of the operator's Lease. */
  readonly name: string;
  readonly since: string;
  readonly seen: string;
}

type Resource = ResourceOf<KindName>;
type Status = NonNullable<Resource['status']>;

/** Parts of a status that do not come from the kind's reconciler. */
interface Noted {
  readonly marks: readonly OperatorMark[];
  readonly condition: Condition | undefined;
}

interface Other {
  state: 'unknown' | 'asked' | 'alive' | 'gone';
  /** Monotonic time at which this state began, or at which the operator was last heard. */
  sinceMs: number;
}

/** Time in ms in which a living operator answers, even if its leader was just killed. */
export const answerMs = 60_000;
/** Silence in ms after which a waiting operator asks again. */
export const askAgainMs = 600_000;
/** Silence in ms after which the acting operator considers another operator gone. */
const forgetMs = 1_500_000;
const lookMs = 5_000;
const nothing: Noted = { marks: [], condition: undefined };

interface OperatorMarksOptions {
  /** Namespace of our own Lease. */
  readonly self: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events: EventSink;
  readonly leadership: Leadership;
  /** All known resources. */
  readonly resources: () => Iterable<Resource>;
  /** The latest known version of a resource. */
  readonly newest: (kind: KindName, key: ResourceKey) => Resource | undefined;
  /** Writes the status of a resource, with marks added by `putOn`. */
  readonly write: (resource: Resource) => Promise<unknown>;
}

export class OperatorMarks {
  readonly #options: OperatorMarksOptions;
  readonly #others = new Map<string, Other>();
  readonly #noted = new WeakMap<Resource, Noted>();
  readonly #listeners = new Map<KindName, Set<(key: ResourceKey) => void>>();
  /** Resources whose marks must be written, by kind and key. */
  readonly #due = new Map<string, Resource>();
  /** Names of due resources whose mark is a question. */
  readonly #questions = new Set<string>();
  readonly #gauge: Gauge;
  #writing = false;
  #nextLook: Timer | undefined;
  #isClosed = false;

  constructor(options: OperatorMarksOptions) {
    this.#options = options;
    this.#gauge = options.metrics.gauge(
      'logfleet_other_operators',
      'Operators of other namespaces that follow resources of this one.',
      [],
    );
    this.#gauge.set({}, 0);
    options.leadership.subscribe(() => this.#look());
  }

  close(): void {
    this.#isClosed = true;
    this.#nextLook?.cancel();
  }

  /** Removes the marks from a resource that the API server sent. `before` is its last known version. */
  takeOff<R extends Resource>(resource: R, before: Resource | undefined): R {
    const { operators = [], conditions: all, ...status } = (resource.status ?? {}) as Status;
    if (operators.length === 0) return resource;
    const condition = findCondition(all, 'OtherOperator');
    const conditions = removeCondition(all, 'OtherOperator');
    const bare = { ...resource, status: { ...status, ...(conditions.length > 0 && { conditions }) } } as R;
    this.#noted.set(bare, { marks: operators, condition });
    this.#learn(bare, before?.metadata.uid === resource.metadata.uid ? before : undefined);
    return bare;
  }

  /** Returns the resource with marks in its status: ours, and those of operators that are not gone. */
  putOn<R extends Resource>(resource: R): R {
    const { kind, metadata } = resource;
    const known = this.#options.newest(kind, metadata);
    const { condition } = this.#notedOf(known);
    const foreign = this.#foreign(known).filter(({ name }) => this.#others.get(name)?.state !== 'gone');
    const own = this.#ownMark(known, foreign, this.#questions.has(nameOf(resource)));
    const status = (resource.status ?? {}) as Status;
    const operators = [own, ...foreign].sort((left, right) => (isEarlier(left, right) ? -1 : 1));
    if (foreign.length === 0) return { ...resource, status: { ...status, operators } };
    const before = [...(status.conditions ?? []), ...(condition ? [condition] : [])];
    return { ...resource, status: { ...status, operators, conditions: this.#told(before, operators, metadata) } };
  }

  /** Returns whether another operator acts on the resource. */
  isHeld(resource: Resource): boolean {
    // Fast path: usually there is no foreign mark, and each decision asks several times.
    if (this.#notedOf(resource).marks.every(({ name }) => name === this.#options.self)) return false;
    const own = this.#own(resource);
    return this.#foreign(resource).some(
      (mark) => this.#others.get(mark.name)?.state !== 'gone' && (!own || isEarlier(mark, own)),
    );
  }

  /** The resources of a cache that no other operator acts on. */
  ours<K extends KindName>(kind: K, cache: ResourceSource<ResourceOf<K>>): ResourceSource<ResourceOf<K>> {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    const isOurs = (resource: ResourceOf<K>) => !this.isHeld(resource);
    return {
      synced: () => cache.synced(),
      *list() {
        for (const resource of cache.list()) if (isOurs(resource)) yield resource;
      },
      get(key) {
        const resource = cache.get(key);
        return resource && isOurs(resource) ? resource : undefined;
      },
      subscribe(listener) {
        const unsubscribe = cache.subscribe(listener);
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
          unsubscribe();
        };
      },
    };
  }

  #notedOf(resource: Resource | undefined): Noted {
    return (resource && this.#noted.get(resource)) ?? nothing;
  }

  #own(resource: Resource | undefined): OperatorMark | undefined {
    return this.#notedOf(resource).marks.find(({ name }) => name === this.#options.self);
  }

  #foreign(resource: Resource | undefined): readonly OperatorMark[] {
    return this.#notedOf(resource).marks.filter(({ name }) => name !== this.#options.self);
  }

  /** Learns from marks: a changed mark proves that its operator is alive. */
  #learn(resource: Resource, before: Resource | undefined): void {
    const known = this.#foreign(before);
    for (const mark of this.#foreign(resource)) {
      const other = this.#otherOf(mark.name);
      const was = known.find(({ name }) => name === mark.name);
      if (before && was?.seen !== mark.seen) this.#heard(mark.name, other, resource);
    }
    this.#consider(resource);
  }

  #otherOf(name: string): Other {
    const known = this.#others.get(name);
    if (known) return known;
    const other: Other = { state: 'unknown', sinceMs: this.#options.clock.monotonic() };
    this.#others.set(name, other);
    this.#lookLater();
    return other;
  }

  #heard(name: string, other: Other, resource: Resource): void {
    const { log, events, self, clock } = this.#options;
    const { kind, metadata } = resource;
    if (other.state !== 'alive') log.warn('another operator follows the same resources', { operator: name, self });
    this.#enter(other, 'alive', clock.monotonic());
    const message = messageOf(
      [...this.#notedOf(resource).marks].sort((left, right) => (isEarlier(left, right) ? -1 : 1)),
    );
    events.publish({ kind, ...metadata }, { type: 'Warning', reason: reasons.otherOperator, message });
  }

  #enter(other: Other, state: Other['state'], sinceMs: number): void {
    const hadGone = other.state === 'gone';
    Object.assign(other, { state, sinceMs });
    this.#gauge.set({}, [...this.#others.values()].filter((one) => one.state === 'alive').length);
    if (hadGone !== (state === 'gone')) this.#announce();
  }

  /** Notifies listeners of resources whose acting operator changed because another operator appeared or disappeared. */
  #announce(): void {
    for (const resource of this.#options.resources()) {
      if (this.#foreign(resource).length === 0) continue;
      for (const listener of this.#listeners.get(resource.kind) ?? []) listener(resource.metadata);
      this.#consider(resource);
    }
  }

  /** Schedules a write of our mark if it is missing, must answer a question, or must replace a mark of an operator that is gone. */
  #consider(resource: Resource): void {
    const foreign = this.#foreign(resource);
    const own = this.#own(resource);
    if (foreign.length === 0) return;
    const isDue = !own || foreign.some(({ name, seen }) => seen > own.seen || this.#others.get(name)?.state === 'gone');
    if (isDue) this.#enqueue(resource);
  }

  #enqueue(resource: Resource): void {
    this.#due.set(nameOf(resource), resource);
    // Deferred, because the cache does not contain the resource yet.
    queueMicrotask(() => void this.#writeAll());
  }

  /** Writes due marks one after the other. A failed write is repeated at the next change of the resource or the next check. */
  async #writeAll(): Promise<void> {
    const { leadership, newest, write, log } = this.#options;
    if (this.#writing) return;
    this.#writing = true;
    for (const [name, { kind, metadata }] of this.#due) {
      if (!leadership.isLeader() || this.#isClosed) break;
      this.#due.delete(name);
      const resource = newest(kind, metadata);
      if (!resource) continue;
      try {
        await write(resource);
        this.#asked(resource);
      } catch (error) {
        if (!hasCode(error, 'host.gone') && !hasCode(error, 'host.conflict')) this.#due.set(name, resource);
        if (!hasCode(error, 'host.conflict'))
          log.debug('a mark was not written', { name, error: asLogfleetError(error) });
        if (this.#due.has(name)) break;
      }
      this.#questions.delete(name);
    }
    this.#writing = false;
  }

  /** Updates the states after our mark was written. A mark that is new, or newer than all others, is a question. */
  #asked(resource: Resource): void {
    const nowMs = this.#options.clock.monotonic();
    for (const { name } of this.#foreign(resource)) {
      const other = this.#otherOf(name);
      if (other.state === 'unknown' || (other.state === 'alive' && this.#questions.has(nameOf(resource)))) {
        this.#enter(other, 'asked', nowMs);
      }
    }
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#nextLook ??= this.#options.clock.after(lookMs, () => {
      this.#nextLook = undefined;
      this.#look();
    });
  }

  /** Checks the operators that were asked or have been silent for long. */
  #look(): void {
    if (this.#others.size === 0 || this.#isClosed) return;
    const nowMs = this.#options.clock.monotonic();
    for (const [name, other] of this.#others) {
      const silentMs = nowMs - other.sinceMs;
      if (other.state === 'asked' && silentMs >= answerMs) this.#enter(other, 'gone', nowMs);
      else if (other.state === 'alive' && silentMs >= forgetMs) this.#enter(other, 'gone', nowMs);
      else if (other.state === 'alive' && silentMs >= askAgainMs) this.#ask(name);
    }
    for (const resource of this.#options.resources()) this.#consider(resource);
    void this.#writeAll();
    this.#lookLater();
  }

  /** Asks an operator that acts in our place, through one of its resources. */
  #ask(operator: string): void {
    for (const resource of this.#options.resources()) {
      if (!this.isHeld(resource) || !this.#foreign(resource).some(({ name }) => name === operator)) continue;
      this.#questions.add(nameOf(resource));
      this.#enqueue(resource);
      return;
    }
  }

  /** Our mark to write: unchanged, as an answer, or as a question. */
  #ownMark(resource: Resource | undefined, foreign: readonly OperatorMark[], isQuestion: boolean): OperatorMark {
    const own = this.#own(resource);
    const nowMs = this.#options.clock.now();
    const latest = foreign.reduce((most, { seen }) => (seen > most ? seen : most), own?.seen ?? '');
    const question = textOf(Math.max(nowMs, latest === '' ? nowMs : Date.parse(latest) + 1));
    if (!own) return { name: this.#options.self, since: textOf(nowMs), seen: question };
    return { ...own, seen: isQuestion ? question : latest };
  }

  #told(
    conditions: readonly Condition[],
    operators: readonly OperatorMark[],
    { generation }: Resource['metadata'],
  ): readonly Condition[] {
    const change = { type: 'OtherOperator', status: 'True', reason: reasons.otherOperator } as const;
    const nowIso = `${textOf(this.#options.clock.now()).slice(0, 19)}Z`;
    return setCondition(
      conditions,
      { ...change, message: messageOf(operators), observedGeneration: generation },
      nowIso,
    );
  }
}

/** Message of the condition and the Event. `operators` are sorted by their marks. */
function messageOf(operators: readonly OperatorMark[]): string {
  const [first, ...others] = operators.map(({ name }) => name);
  return (
    `The operators in the namespaces ${[first, ...others].join(' and ')} both follow this resource. The one in ${first} acts, ` +
    `since it came first; ${others.join(' and ')} holds. Uninstall one of them, or give them different --namespaces.`
  );
}

function isEarlier(left: OperatorMark, right: OperatorMark): boolean {
  return left.since === right.since ? left.name < right.name : left.since < right.since;
}

function nameOf({ kind, metadata }: Resource): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function textOf(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
