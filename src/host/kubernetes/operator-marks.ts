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

/** One operator, as it stands in the status of a resource. Times are RFC 3339 with milliseconds, so that their order is that of texts. */
export interface OperatorMark {
  /** The namespace of its lease. */
  readonly name: string;
  readonly since: string;
  readonly seen: string;
}

type Resource = ResourceOf<KindName>;
type Status = NonNullable<Resource['status']>;

/** What stands in a status beside that which the kind has written. */
interface Noted {
  readonly marks: readonly OperatorMark[];
  readonly condition: Condition | undefined;
}

interface Other {
  state: 'unknown' | 'asked' | 'alive' | 'gone';
  /** Since when it is in this state, or was heard of last, on the monotonic clock. */
  sinceMs: number;
}

/** A living operator answers within this time, also when its leader has just been killed. */
export const answerMs = 60_000;
/** An operator that holds asks again after so long a silence. */
export const askAgainMs = 600_000;
/** The operator that acts forgets another one that has not asked for so long. */
const forgetMs = 1_500_000;
const lookMs = 5_000;
const nothing: Noted = { marks: [], condition: undefined };

export interface OperatorMarksOptions {
  /** The namespace of our own lease. */
  readonly self: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events: EventSink;
  readonly leadership: Leadership;
  /** All resources that are known now. */
  readonly resources: () => Iterable<Resource>;
  /** The resource as it is known now. */
  readonly newest: (kind: KindName, key: ResourceKey) => Resource | undefined;
  /** Writes the status of a resource as it is known, with `marksOn`. */
  readonly write: (resource: Resource) => Promise<unknown>;
}

export class OperatorMarks {
  readonly #options: OperatorMarksOptions;
  readonly #others = new Map<string, Other>();
  readonly #noted = new WeakMap<Resource, Noted>();
  readonly #listeners = new Map<KindName, Set<(key: ResourceKey) => void>>();
  /** Resources whose marks are to be written, by kind and key. */
  readonly #due = new Map<string, Resource>();
  /** Of these, the ones that carry a question. */
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

  /** Takes the marks off a resource that the API server has sent. `before` is what was known of it. */
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

  /** The status to be written in place of that of `resource`: with our mark, and with the others' as long as they are not gone. */
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

  /** Whether another operator acts on the resource. */
  isHeld(resource: Resource): boolean {
    const own = this.#own(resource);
    return this.#foreign(resource).some(
      (mark) => this.#others.get(mark.name)?.state !== 'gone' && (!own || isEarlier(mark, own)),
    );
  }

  /** The resources of a cache without those that another operator acts on. */
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

  /** A mark that changed since we looked last was changed by an operator that lives. */
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

  /** What is held by an operator that went is ours from now on, and the other way round. */
  #announce(): void {
    for (const resource of this.#options.resources()) {
      if (this.#foreign(resource).length === 0) continue;
      for (const listener of this.#listeners.get(resource.kind) ?? []) listener(resource.metadata);
      this.#consider(resource);
    }
  }

  /** Has our mark written where it is missing, where it is to answer, or where the mark of an operator stands that is gone. */
  #consider(resource: Resource): void {
    const foreign = this.#foreign(resource);
    const own = this.#own(resource);
    if (foreign.length === 0) return;
    const isDue = !own || foreign.some(({ name, seen }) => seen > own.seen || this.#others.get(name)?.state === 'gone');
    if (isDue) this.#enqueue(resource);
  }

  #enqueue(resource: Resource): void {
    this.#due.set(nameOf(resource), resource);
    // Not in this turn: the cache does not have the resource yet.
    queueMicrotask(() => void this.#writeAll());
  }

  /** One after the other. A write that fails is made up for by the next news of the resource, or by the next look. */
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

  /** A mark that is new, or newer than all others, is a question. */
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

  /** Looks after the operators that were asked, or have been silent for long. */
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

  /** Asks an operator that we hold for, by one of the resources. */
  #ask(operator: string): void {
    for (const resource of this.#options.resources()) {
      if (!this.isHeld(resource) || !this.#foreign(resource).some(({ name }) => name === operator)) continue;
      this.#questions.add(nameOf(resource));
      this.#enqueue(resource);
      return;
    }
  }

  /** Our mark as it is to be written: as it was, as an answer, or as a question. */
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

/** `operators` in the order of their marks. */
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
