/**
 * Detects another operator that follows the same resources, as when a cluster-wide and a namespaced installation
 * overlap (L2). Each operator writes its mark (namespace of its Lease and a time) into `status.operators` of each
 * resource. Other operators see the mark through their normal watch.
 *
 * A mark with a later time than all others is a question to the other operators. A living operator answers by copying
 * the time into its own mark. An operator asks when it sees another operator for the first time, and again after ten
 * minutes without a change of that operator's marks. If no answer arrives within a minute, the other operator counts as
 * gone.
 *
 * Invariants:
 * - Only the operator whose mark is the earliest acts on a resource. The other operators treat the resource as if it
 *   did not exist.
 * - A single operator sends no additional writes. Two operators write one question and one answer in ten minutes.
 * - Reconcilers do not see marks: this class removes them from what is read, and adds them to what is written.
 */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../../api/conditions.ts';
import type { AnyResource, KindName, ResourceOf } from '../../api/kinds.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Gauge, Metrics } from '../../base/metrics.ts';
import type { EventSink, Leadership, ResourceKey, ResourceSource } from '../host.ts';
import { hasCode } from './api-error.ts';

/**
 * Mark that one operator wrote into a resource's status. Its times are RFC 3339 with milliseconds, so they can be
 * compared as text.
 */
interface OperatorMark {
  /** Namespace of the Lease of the operator that wrote the mark. */
  readonly name: string;
  readonly since: string;
  readonly seen: string;
}

type Status = NonNullable<AnyResource['status']>;

/** Members of a resource's status that this class writes instead of the reconciler. */
interface Noted {
  readonly marks: readonly OperatorMark[];
  readonly condition: Condition | undefined;
}

interface Other {
  /** State of another operator. It is `unknown` until one of that operator's marks changes. */
  state: 'unknown' | 'alive' | 'gone';
  /** Monotonic time in ms at which a mark of the other operator was first seen or last changed. */
  lastSignMs: number;
  /** Monotonic time in ms at which we asked the other operator for an answer. Undefined while no question is open. */
  askedMs: number | undefined;
}

/** Time in ms within which a living operator answers a question, even if its leader was just killed. */
export const answerMs = 60_000;
/**
 * Time in ms without a change of the other operator's marks after which an operator asks it. The operator that acts on
 * the resource waits for `answerMs` longer, so that only one of the two asks.
 */
export const askAgainMs = 600_000;
const checkIntervalMs = 5_000;
const nothing: Noted = { marks: [], condition: undefined };

interface OperatorMarksOptions {
  /** Namespace of the Lease of this operator. */
  readonly self: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events: EventSink;
  readonly leadership: Leadership;
  /** All known resources, of every followed kind. */
  readonly resources: () => Iterable<AnyResource>;
  /** The latest known version of a resource. */
  readonly newest: (kind: KindName, key: ResourceKey) => AnyResource | undefined;
  /** Writes the status of a resource, with the operators' marks added by `addMarks`. */
  readonly write: (resource: AnyResource) => Promise<unknown>;
}

export class OperatorMarks {
  readonly #options: OperatorMarksOptions;
  readonly #others = new Map<string, Other>();
  readonly #noted = new WeakMap<AnyResource, Noted>();
  readonly #listeners = new Map<KindName, Set<(key: ResourceKey) => void>>();
  /** Resources whose status must get our mark, by kind and key. */
  readonly #due = new Map<string, { readonly resource: AnyResource; readonly isQuestion: boolean }>();
  readonly #gauge: Gauge;
  #writing = false;
  #nextCheck: Timer | undefined;
  #isClosed = false;

  constructor(options: OperatorMarksOptions) {
    this.#options = options;
    const help = 'Operators of other namespaces that follow resources of this one.';
    this.#gauge = options.metrics.gauge('logfleet_other_operators', help, []);
    this.#gauge.set({}, 0);
    options.leadership.subscribe(() => this.#check());
  }

  close(): void {
    this.#isClosed = true;
    this.#nextCheck?.cancel();
  }

  /** Removes the operators' marks from a resource that the API server sent. `before` is its last known version. */
  removeMarks<R extends AnyResource>(resource: R, before: AnyResource | undefined): R {
    const { operators = [], conditions: all, ...status } = (resource.status ?? {}) as Status;
    if (operators.length === 0) return resource;
    const condition = findCondition(all, 'OtherOperator');
    const conditions = removeCondition(all, 'OtherOperator');
    const bare = { ...resource, status: { ...status, ...(conditions.length > 0 && { conditions }) } } as R;
    this.#noted.set(bare, { marks: operators, condition });
    this.#learn(bare, before?.metadata.uid === resource.metadata.uid ? before : undefined);
    return bare;
  }

  /** Returns the resource with the operators' marks in its status: ours, and those of operators that are not gone. */
  addMarks<R extends AnyResource>(resource: R): R {
    const known = this.#options.newest(resource.kind, resource.metadata);
    const { condition } = this.#notedOf(known);
    const foreign = this.#foreign(known).filter(({ name }) => !this.#isGone(name));
    const operators = inOrder([this.#ownMark(known, foreign), ...foreign]);
    const status = { ...(resource.status as Status), operators };
    if (foreign.length === 0) return { ...resource, status };
    const change = { type: 'OtherOperator', status: 'True', reason: reasons.otherOperator } as const;
    const { generation: observedGeneration } = resource.metadata;
    const conditions = setCondition(
      [...(status.conditions ?? []), ...(condition ? [condition] : [])],
      { ...change, message: messageOf(operators), observedGeneration },
      `${textOf(this.#options.clock.now()).slice(0, 19)}Z`,
    );
    return { ...resource, status: { ...status, conditions } };
  }

  /** Returns a view of a cache without the resources that another operator acts on. */
  ours<K extends KindName>(kind: K, cache: ResourceSource<ResourceOf<K>>): ResourceSource<ResourceOf<K>> {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    const isOurs = (resource: ResourceOf<K>) => !this.#isHeld(resource);
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

  /** Returns whether another operator acts on the resource. */
  #isHeld(resource: AnyResource): boolean {
    const foreign = this.#foreign(resource);
    // Without marks of other operators, which is the usual case, the answer is immediate. Each decision asks several times.
    if (foreign.length === 0) return false;
    const own = this.#own(resource);
    return foreign.some((mark) => !this.#isGone(mark.name) && (!own || isEarlier(mark, own)));
  }

  #isGone(name: string): boolean {
    return this.#others.get(name)?.state === 'gone';
  }

  #notedOf(resource: AnyResource | undefined): Noted {
    return (resource && this.#noted.get(resource)) ?? nothing;
  }

  #own(resource: AnyResource | undefined): OperatorMark | undefined {
    return this.#notedOf(resource).marks.find(({ name }) => name === this.#options.self);
  }

  #foreign(resource: AnyResource | undefined): readonly OperatorMark[] {
    const { marks } = this.#notedOf(resource);
    return marks.length === 0 ? marks : marks.filter(({ name }) => name !== this.#options.self);
  }

  /** Reads the marks of other operators in a resource. A changed mark proves that its operator is alive. */
  #learn(resource: AnyResource, before: AnyResource | undefined): void {
    const known = this.#foreign(before);
    for (const { name, seen } of this.#foreign(resource)) {
      if (!this.#others.has(name)) this.#addOther(name);
      if (before && known.find((mark) => mark.name === name)?.seen !== seen) this.#noteAlive(name, resource);
    }
    this.#consider(resource);
  }

  #addOther(name: string): void {
    this.#others.set(name, { state: 'unknown', lastSignMs: this.#options.clock.monotonic(), askedMs: undefined });
    this.#checkLater();
  }

  #noteAlive(name: string, resource: AnyResource): void {
    const { log, events, self } = this.#options;
    const { kind, metadata } = resource;
    if (this.#others.get(name)?.state !== 'alive') {
      log.warn('another operator follows the same resources', { operator: name, self });
    }
    this.#enter(name, 'alive');
    const message = messageOf(inOrder(this.#notedOf(resource).marks));
    events.publish({ kind, ...metadata }, { type: 'Warning', reason: reasons.otherOperator, message });
  }

  #enter(name: string, state: 'alive' | 'gone'): void {
    const wasGone = this.#isGone(name);
    this.#others.set(name, { state, lastSignMs: this.#options.clock.monotonic(), askedMs: undefined });
    this.#gauge.set({}, [...this.#others.values()].filter((other) => other.state === 'alive').length);
    if (wasGone !== (state === 'gone')) this.#announce();
  }

  /**
   * Notifies listeners of resources for which the acting operator changed, because another operator appeared or
   * disappeared.
   */
  #announce(): void {
    for (const resource of this.#options.resources()) {
      if (this.#foreign(resource).length === 0) continue;
      for (const listener of this.#listeners.get(resource.kind) ?? []) listener(resource.metadata);
      this.#consider(resource);
    }
  }

  /**
   * Schedules a write of our mark into a resource's status. Three cases need it: our mark is missing, must answer a
   * question, or must replace the mark of an operator that is gone.
   */
  #consider(resource: AnyResource): void {
    const own = this.#own(resource);
    const isDue = this.#foreign(resource).some(({ name, seen }) => !own || seen > own.seen || this.#isGone(name));
    if (isDue) this.#enqueue(resource, false);
  }

  #enqueue(resource: AnyResource, isQuestion: boolean): void {
    this.#due.set(nameOf(resource), { resource, isQuestion });
    // The write is deferred, because the cache does not contain the resource yet.
    queueMicrotask(() => void this.#writeAll());
  }

  /**
   * Writes all scheduled marks one after the other. A failed write is repeated at the next change of the resource or at
   * the next check.
   */
  async #writeAll(): Promise<void> {
    const { leadership, newest, write, log } = this.#options;
    if (this.#writing) return;
    this.#writing = true;
    for (const [name, due] of this.#due) {
      if (!leadership.isLeader() || this.#isClosed) break;
      const resource = newest(due.resource.kind, due.resource.metadata);
      try {
        if (resource) {
          await write(resource);
          this.#noteQuestions(resource, due.isQuestion);
        }
      } catch (error) {
        if (!hasCode(error, 'host.gone') && !hasCode(error, 'host.conflict')) {
          log.debug('a mark was not written', { name, error: asLogfleetError(error) });
          break;
        }
      }
      if (this.#due.get(name) === due) this.#due.delete(name);
    }
    this.#writing = false;
  }

  /**
   * Starts to wait for an answer after our mark was written as a question. The first mark that we write beside another
   * mark is a question, too.
   */
  #noteQuestions(resource: AnyResource, isQuestion: boolean): void {
    for (const { name } of this.#foreign(resource)) {
      const other = this.#others.get(name);
      if (other && (isQuestion || other.state === 'unknown')) other.askedMs ??= this.#options.clock.monotonic();
    }
  }

  #checkLater(): void {
    if (this.#isClosed) return;
    this.#nextCheck ??= this.#options.clock.after(checkIntervalMs, () => {
      this.#nextCheck = undefined;
      this.#check();
    });
  }

  /**
   * Checks all other operators. An operator that did not answer in time counts as gone, and an operator that was silent
   * for long is asked.
   */
  #check(): void {
    if (this.#others.size === 0 || this.#isClosed) return;
    const nowMs = this.#options.clock.monotonic();
    for (const [name, { state, lastSignMs, askedMs }] of this.#others) {
      if (askedMs !== undefined && nowMs - askedMs >= answerMs) this.#enter(name, 'gone');
      else if (askedMs === undefined && state === 'alive') this.#askIfSilent(name, nowMs - lastSignMs);
    }
    for (const resource of this.#options.resources()) this.#consider(resource);
    void this.#writeAll();
    this.#checkLater();
  }

  /** Asks another operator, through one of its resources, whether it is alive. Does so only after a long silence. */
  #askIfSilent(operator: string, silentMs: number): void {
    if (silentMs < askAgainMs) return;
    for (const resource of this.#options.resources()) {
      if (!this.#foreign(resource).some(({ name }) => name === operator)) continue;
      if (this.#isHeld(resource) || silentMs >= askAgainMs + answerMs) this.#enqueue(resource, true);
      return;
    }
  }

  /** Returns our mark for a resource: unchanged, as an answer to another operator, or as a question to it. */
  #ownMark(resource: AnyResource | undefined, foreign: readonly OperatorMark[]): OperatorMark {
    const own = this.#own(resource);
    const nowMs = this.#options.clock.now();
    const latest = foreign.reduce((most, { seen }) => (seen > most ? seen : most), own?.seen ?? '');
    const question = textOf(latest === '' ? nowMs : Math.max(nowMs, Date.parse(latest) + 1));
    if (!own) return { name: this.#options.self, since: textOf(nowMs), seen: question };
    const isQuestion = resource && this.#due.get(nameOf(resource))?.isQuestion;
    return { ...own, seen: isQuestion ? question : latest };
  }
}

/** Message of the condition and the Event about another operator. `operators` are in the order of their marks. */
function messageOf(operators: readonly OperatorMark[]): string {
  const [first, ...others] = operators.map(({ name }) => name);
  return (
    `The operators in the namespaces ${[first, ...others].join(' and ')} both follow this resource. The one in ${first} acts, ` +
    `since it came first; ${others.join(' and ')} holds. Uninstall one of them, or give them different --namespaces.`
  );
}

function inOrder(marks: readonly OperatorMark[]): readonly OperatorMark[] {
  return [...marks].sort((left, right) => (isEarlier(left, right) ? -1 : 1));
}

function isEarlier(left: OperatorMark, right: OperatorMark): boolean {
  return left.since === right.since ? left.name < right.name : left.since < right.since;
}

function nameOf({ kind, metadata }: AnyResource): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function textOf(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
