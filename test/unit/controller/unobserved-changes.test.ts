/**
 * Tests how logfleet finds the oldest change that a resource's status does not reflect yet, and computes the change's
 * age.
 */
import { expect, test } from 'vitest';
import { type ObservableResource, UnobservedChanges } from '../../../src/controller/unobserved-changes.ts';

function world() {
  const resources = new Map<string, ObservableResource>();
  const changes = new UnobservedChanges(({ name }) => resources.get(name));
  return {
    changes,
    set(name: string, generation: number, observedGeneration: number | undefined, nowMs: number) {
      const status = observedGeneration === undefined ? {} : { status: { observedGeneration } };
      resources.set(name, { metadata: { namespace: 'logging', name, generation }, ...status });
      changes.changed({ namespace: 'logging', name }, nowMs);
    },
    /** Changes the status without reporting the change, as if this process had written the status itself. */
    write(name: string, generation: number) {
      const metadata = { namespace: 'logging', name, generation };
      resources.set(name, { metadata, status: { observedGeneration: generation } });
    },
    markDeleted(name: string, generation: number, observedGeneration: number, nowMs: number) {
      const metadata = { namespace: 'logging', name, generation, deletionTimestamp: '2026-11-01T00:00:00Z' };
      resources.set(name, { metadata, status: { observedGeneration } });
      changes.changed({ namespace: 'logging', name }, nowMs);
    },
    remove(name: string) {
      resources.delete(name);
      changes.changed({ namespace: 'logging', name }, 0);
    },
  };
}

test('the age counts from the first of several unobserved changes', () => {
  const { changes, set } = world();
  expect(changes.oldestMs(1_000)).toBe(0);
  set('first', 1, undefined, 1_000);
  set('second', 3, 2, 2_000);
  set('first', 2, undefined, 3_000);
  expect(changes.oldestMs(5_000)).toBe(4_000);
});

test('a status that shows the generation ends the age', () => {
  const { changes, set } = world();
  set('first', 1, undefined, 1_000);
  set('second', 3, 2, 2_000);
  set('first', 1, 1, 3_000);
  expect(changes.oldestMs(5_000)).toBe(3_000);
  set('second', 3, 3, 4_000);
  expect(changes.oldestMs(5_000)).toBe(0);
});

test('a status that this process has written ends the age without another report', () => {
  const { changes, set, write } = world();
  set('first', 1, undefined, 1_000);
  set('second', 3, 2, 2_000);
  write('first', 1);
  expect(changes.oldestMs(5_000)).toBe(3_000);
});

test('the age of a change does not include an earlier change that the status already shows', () => {
  const { changes, set } = world();
  set('first', 1, undefined, 1_000);
  set('first', 2, 1, 600_000);
  expect(changes.oldestMs(601_000)).toBe(1_000);
});

test('a deleted resource has no age', () => {
  const { changes, set, remove } = world();
  set('first', 1, undefined, 1_000);
  remove('first');
  expect(changes.oldestMs(5_000)).toBe(0);
});

test('a resource that waits for a finalizer has no age, although its deletion raised the generation', () => {
  const { changes, set, markDeleted } = world();
  set('first', 1, 1, 1_000);
  markDeleted('first', 2, 1, 2_000);
  expect(changes.oldestMs(5_000)).toBe(0);
});
