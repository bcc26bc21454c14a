import { describe, expect, test } from 'vitest';
import { type Handling, LogfleetError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { Controller } from '../../../src/controller/controller.ts';
import { finished, type Result } from '../../../src/controller/reconciler.ts';
import type { ObservableResource } from '../../../src/controller/unobserved-changes.ts';
import type { ResourceKey } from '../../../src/host/host.ts';
import { CountingMetrics } from '../../support/counting-metrics.ts';
import { SwitchedLeadership } from '../../support/switched-leadership.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';

/** Controller under test. Each test sets its resources, its leadership, and the results of its reconciler. */
class ControllerWorld {
  readonly clock = new VirtualClock();
  readonly metrics = new CountingMetrics();
  readonly stop = new AbortController();
  readonly calls: string[] = [];
  readonly signals = new Map<string, AbortSignal>();
  readonly names: string[];
  reconcile: (name: string, signal: AbortSignal) => Promise<Result> | Result = () => finished;
  inSync = true;
  /** Resource that the source returns for each key. */
  resource: ObservableResource | undefined;
  readonly filled = Promise.withResolvers<void>();
  readonly leadership: SwitchedLeadership;
  readonly controller: Controller;
  readonly ended: Promise<void>;
  #changeListener: (key: ResourceKey) => void = () => {};

  constructor(
    names: string[],
    { leads = true, ...preset }: Partial<Pick<ControllerWorld, 'inSync' | 'reconcile'> & { leads: boolean }> = {},
    workers = 2,
  ) {
    this.names = names;
    Object.assign(this, preset);
    this.leadership = new SwitchedLeadership(leads);
    this.controller = new Controller({
      name: 'test',
      reconciler: {
        reconcile: async ({ namespace, name }, signal) => {
          this.calls.push(`${namespace}/${name}`);
          this.signals.set(name, signal);
          return this.reconcile(name, signal);
        },
      },
      source: {
        synced: () => this.inSync,
        whenSynced: async () => (this.inSync ? undefined : this.filled.promise),
        list: () => this.names.map((name) => ({ metadata: { namespace: 'logging', name } })),
        get: () => this.resource,
        subscribe: (listener) => {
          this.#changeListener = listener;
          return () => {
            this.#changeListener = () => {};
          };
        },
      },
      workers,
      clock: this.clock,
      random: { next: () => 0 },
      log: silentLogger,
      metrics: this.metrics,
      leadership: this.leadership,
    });
    this.ended = this.controller.run(this.stop.signal);
  }

  change(name: string): void {
    this.#changeListener({ namespace: 'logging', name });
  }

  outcomes(outcome: string): number {
    return this.metrics.values.get(`logfleet_reconciles_total{test,${outcome}}`) ?? 0;
  }
}

/** A reconciliation that ends when the test calls `open`. */
function gate() {
  let open: (result: Result) => void = () => {};
  const passed = new Promise<Result>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open(finished) };
}

function failure(handling: Handling): LogfleetError {
  return new LogfleetError({ code: 'test.failure', message: 'on purpose', handling });
}

describe('a controller', () => {
  test('reconciles existing and changed resources immediately', async () => {
    const world = new ControllerWorld(['a', 'b']);
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b']);
    world.change('b');
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b', 'logging/b']);
    expect(world.clock.monotonic()).toBe(0);
  });

  test('starts no reconcile while a change is being reported', async () => {
    const world = new ControllerWorld([]);
    world.change('a');
    expect(world.calls).toEqual([]);
    await settle();
    expect(world.calls).toEqual(['logging/a']);
  });

  test('starts reconciles when the list of resources is complete, although no resource changes then', async () => {
    const world = new ControllerWorld(['a'], { inSync: false });
    await settle();
    expect(world.calls).toEqual([]);
    world.inSync = true;
    world.filled.resolve();
    await settle();
    expect(world.calls).toEqual(['logging/a']);
  });

  test('without a complete list of resources, reports the time since the election as the age of a change', async () => {
    const world = new ControllerWorld([], { inSync: false });
    const age = () => world.metrics.observed().get('logfleet_oldest_unobserved_change_seconds{test}');
    await world.clock.advance(60_000);
    expect(age()).toBe(60);
    world.inSync = true;
    expect(age()).toBe(0);
  });

  test('a new leader reports the age of changes that no former leader has handled', async () => {
    const world = new ControllerWorld(['a'], { leads: false, reconcile: () => gate().passed });
    world.resource = {
      metadata: { namespace: 'logging', name: 'a', generation: 2 },
      status: { observedGeneration: 1 },
    };
    world.leadership.begin();
    await world.clock.advance(60_000);
    expect(world.metrics.observed().get('logfleet_oldest_unobserved_change_seconds{test}')).toBe(60);
  });

  test('waits for the first list', async () => {
    const world = new ControllerWorld(['a'], { inSync: false });
    await settle();
    expect(world.calls).toEqual([]);
    world.inSync = true;
    world.change('a');
    await settle();
    expect(world.calls).toEqual(['logging/a']);
  });

  test('runs at most one reconcile per worker, and never two for one key', async () => {
    const gates = new Map(['a', 'b', 'c'].map((name) => [name, gate()]));
    const world = new ControllerWorld(['a', 'b', 'c'], { reconcile: (name) => gates.get(name)?.passed ?? finished });
    await settle();
    world.change('a');
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b']);
    gates.get('a')?.open();
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b', 'logging/c']);
    gates.get('c')?.open();
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b', 'logging/c', 'logging/a']);
    gates.get('b')?.open();
    await settle();
    expect(world.controller.idle()).toBe(true);
  });

  test('reconciles again after the requested delay', async () => {
    const world = new ControllerWorld(['a'], { reconcile: () => ({ delayMs: 5_000, finished: false }) });
    await world.clock.advance(4_999);
    expect(world.calls.length).toBe(1);
    await world.clock.advance(1);
    expect(world.calls.length).toBe(2);
  });

  const handlings: { handling: Handling; outcome: string; calls: number; settles: boolean }[] = [
    { handling: { kind: 'backoff' }, outcome: 'backoff', calls: 5, settles: false },
    { handling: { kind: 'bug' }, outcome: 'bug', calls: 5, settles: false },
    { handling: { kind: 'retryAfter', delayMs: 4_000 }, outcome: 'retry_after', calls: 4, settles: false },
    { handling: { kind: 'retryAfter', delayMs: 0 }, outcome: 'retry_after', calls: 5, settles: false },
    { handling: { kind: 'wait' }, outcome: 'wait', calls: 1, settles: false },
    { handling: { kind: 'stall' }, outcome: 'stall', calls: 1, settles: true },
  ];
  test.each(handlings)('an error with outcome $outcome', async ({ handling, outcome, calls, settles }) => {
    const world = new ControllerWorld(['a', 'other'], {
      reconcile: (name) => {
        if (name === 'a') throw failure(handling);
        return finished;
      },
    });
    await world.clock.advance(15_000);
    const ofA = () => world.calls.filter((call) => call === 'logging/a').length;
    expect(ofA()).toBe(calls);
    expect(world.controller.idle()).toBe(settles);
    expect(world.outcomes(outcome)).toBe(ofA());
    expect(world.outcomes('finished')).toBe(1);
    await world.clock.advance(15_000);
    expect(ofA()).toBeGreaterThan(1);
  });

  test('shows zero internal errors before the first one, so that an alert sees the first one', () => {
    const { metrics } = new ControllerWorld([]);
    expect(metrics.values.get('logfleet_reconciles_total{test,bug}')).toBe(0);
  });

  test('continues after any thrown value, and a success resets the failures', async () => {
    const thrown: unknown[] = [new TypeError('no such method'), 'a text', undefined, failure({ kind: 'backoff' })];
    const world = new ControllerWorld(['a'], {
      reconcile: () => {
        if (thrown.length > 0) throw thrown.shift();
        return finished;
      },
    });
    await world.clock.advance(500 + 1_000 + 2_000 + 4_000);
    expect(world.calls.length).toBe(5);
    expect(world.controller.idle()).toBe(true);
    thrown.push(failure({ kind: 'backoff' }));
    world.change('a');
    await world.clock.advance(500);
    expect(world.calls.length).toBe(7);
  });

  test('a change ends the back-off', async () => {
    let failures = 5;
    const world = new ControllerWorld(['a'], {
      reconcile: () => {
        if (failures-- > 0) throw failure({ kind: 'backoff' });
        return finished;
      },
    });
    await settle();
    world.change('a');
    await settle();
    expect(world.calls.length).toBe(2);
  });

  test('a process that is not the leader starts nothing, and reconciles all resources when it becomes the leader', async () => {
    const world = new ControllerWorld(['a', 'b'], { leads: false });
    world.change('a');
    await settle();
    expect(world.calls).toEqual([]);
    expect(world.controller.idle()).toBe(false);
    world.leadership.begin();
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b']);
  });

  test('the loss of leadership aborts reconciles in flight and starts no more', async () => {
    const held = gate();
    const world = new ControllerWorld(['a', 'b', 'c'], { reconcile: () => held.passed });
    await settle();
    world.leadership.end();
    expect(world.signals.get('a')?.aborted).toBe(true);
    held.open();
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/b']);
    expect(world.outcomes('aborted')).toBe(2);
    world.leadership.begin();
    await settle();
    expect(world.calls.slice(2).sort()).toEqual(['logging/a', 'logging/b', 'logging/c']);
    expect(world.signals.get('a')?.aborted).toBe(false);
  });

  test('an error of an aborted reconcile counts neither as a failure nor as a bug', async () => {
    const reconcile = (_: string, signal: AbortSignal) =>
      new Promise<Result>((__, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const world = new ControllerWorld(['a'], { reconcile });
    await settle();
    world.leadership.end();
    await settle();
    expect([world.outcomes('aborted'), world.outcomes('bug')]).toEqual([1, 0]);
  });

  test('a reconcile of an earlier term is aborted, even if the loss between the terms was not announced', async () => {
    const held = gate();
    const world = new ControllerWorld(['a'], { reconcile: () => held.passed });
    await settle();
    world.leadership.begin();
    expect(world.signals.get('a')?.aborted).toBe(true);
    world.reconcile = () => finished;
    held.open();
    await settle();
    expect(world.calls.length).toBe(2);
    expect(world.controller.idle()).toBe(true);
  });

  test('a lease that has expired by the local clock stops starts before the announcement', async () => {
    const world = new ControllerWorld([]);
    world.leadership.end({ isSilent: true });
    world.change('a');
    await settle();
    expect(world.calls).toEqual([]);
  });

  test('an aborted key of a deleted resource is reconciled in the next term', async () => {
    const held = gate();
    const world = new ControllerWorld(['a'], { reconcile: () => held.passed });
    await settle();
    world.names.length = 0;
    world.leadership.end();
    held.open();
    await settle();
    world.leadership.begin();
    await settle();
    expect(world.calls).toEqual(['logging/a', 'logging/a']);
  });

  test('ends on request: nothing more starts, and reconciles in flight are aborted and awaited', async () => {
    const held = gate();
    const world = new ControllerWorld(['a', 'b', 'c'], { reconcile: () => held.passed });
    await settle();
    let ended = false;
    void world.ended.then(() => {
      ended = true;
    });
    world.stop.abort();
    await settle();
    expect(ended).toBe(false);
    expect(world.signals.get('a')?.aborted).toBe(true);
    held.open();
    await world.ended;
    world.change('a');
    await world.clock.advance(1_000_000);
    expect(world.calls).toEqual(['logging/a', 'logging/b']);
    expect(world.clock.next()).toBeUndefined();
  });

  test('a controller that is aborted before it runs ends', async () => {
    const world = new ControllerWorld([]);
    world.stop.abort();
    await world.ended;
    await expect(world.controller.run(world.stop.signal)).rejects.toMatchObject({ code: 'bug.assertion' });
  });

  test('is settled when the last result of each resource is settled, despite planned reconciles', async () => {
    const later: Result = { delayMs: 60_000, finished: true };
    let result: Result = { delayMs: 1_000, finished: false };
    const world = new ControllerWorld(['a', 'b'], { reconcile: (name) => (name === 'a' ? result : finished) });
    let reported = false;
    void world.controller.whenFinished().then(() => {
      reported = true;
    });
    await settle();
    expect([world.controller.idle(), reported]).toEqual([false, false]);
    result = later;
    await world.clock.advance(1_000);
    expect([world.controller.idle(), reported]).toEqual([true, true]);
    await world.controller.whenFinished();
  });

  test('is settled immediately without resources', async () => {
    const world = new ControllerWorld([]);
    await world.controller.whenFinished();
    expect(world.calls).toEqual([]);
  });

  test('measures the duration of reconciles', async () => {
    const held = gate();
    const world = new ControllerWorld(['a'], { reconcile: () => held.passed });
    await world.clock.advance(3_000);
    held.open();
    await settle();
    expect(world.metrics.observations.get('logfleet_reconcile_duration_seconds{test}')).toEqual([3]);
  });
});
