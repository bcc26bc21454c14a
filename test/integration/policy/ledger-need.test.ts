/**
 * Tests that the operator stores no ledger for a policy as long as the policy's status shows everything in the ledger
 * header (U1).
 */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import type { LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import { needsLedger } from '../../../src/policy/ledger/rollout-header.ts';
import { headerFromStatus } from '../../../src/policy/ledger/status-recovery.ts';
import { ledgersPath, policiesPath, secretsPath } from '../../support/world.ts';
import { epochMs, header, target as headerTarget, stageRecord } from '../../unit/policy/builders.ts';
import { before, canary, middle, rest, staged, target } from './staged-world.ts';

const completed = {
  id: `1-${headerTarget}`,
  targetVersion: headerTarget,
  startedAtMs: epochMs,
  endedAtMs: epochMs,
  outcome: 'Completed',
  updated: 1,
  failed: 0,
} as const;
const superseded = { ...completed, id: '0-19.1-1', targetVersion: '19.1-1', outcome: 'Superseded' } as const;
const action = { action: 'Pause', atMs: epochMs } as const;
const stop = { kind: 'abort', message: 'Aborted.', atMs: epochMs } as const;

describe('whether a header needs a ledger', () => {
  const bare: Partial<LedgerHeader> = { attempts: 0, history: [], completedAtMs: undefined };

  test.each<[string, Partial<LedgerHeader>]>([
    ['a rollout that has begun', {}],
    ['a rollout that is complete', { completedAtMs: epochMs, history: [completed] }],
    ['another target that was superseded before', { history: [superseded] }],
    ['another selection', { selection: 'another' }],
  ])('%s: no', (_, change) => {
    expect(needsLedger(header({ ...bare, ...change }))).toBe(false);
  });

  test.each<[string, Partial<LedgerHeader>]>([
    ['an attempt', { attempts: 1 }],
    ['a stage that has begun', { stages: [stageRecord('canary')] }],
    ['a stop', { stop }],
    ['a user action', { actions: [action] }],
    ['a rollout towards a version that was tried before', { unproven: true }],
    ['an address that is too long for status', { service: `https://logs.test/${'a'.repeat(1_024)}` }],
  ])('%s: yes', (_, change) => {
    expect(needsLedger(header({ ...bare, ...change }))).toBe(true);
  });
});

describe('the header from status', () => {
  const shown = (status: object, generation = 1) =>
    headerFromStatus({ metadata: { generation }, status } as CollectorVersionPolicy, epochMs);
  const known = { observedGeneration: 1, noLedgerFor: 'https://logs.test/api', targetVersion: '19.1-1' };
  const record = {
    id: '2-19.1-1',
    targetVersion: '19.1-1',
    startTime: '2026-11-01T00:00:00Z',
    completionTime: '2026-11-01T01:00:00Z',
    outcome: 'Completed',
    updated: 3,
    failed: 0,
  };

  test('is undefined when a ledger was written, or without a target', () => {
    expect(shown({ ...known, noLedgerFor: undefined })).toBeUndefined();
    expect(shown({ ...known, targetVersion: undefined })).toBeUndefined();
  });

  test('describes the running rollout', () => {
    const rollout = { id: '3-19.1-1', startTime: '2026-11-02T00:00:00Z' };
    expect(
      shown({ ...known, rollout, history: [{ ...record, targetVersion: '19.0-1', id: '2-19.0-1' }] }),
    ).toMatchObject({
      rolloutId: '3-19.1-1',
      rolloutNumber: 3,
      startedAtMs: Date.parse(rollout.startTime),
      completedAtMs: undefined,
      history: [{ id: '2-19.0-1', outcome: 'Completed' }],
    });
  });

  test('describes the completed rollout with its times', () => {
    expect(shown({ ...known, history: [record] })).toMatchObject({
      rolloutId: '2-19.1-1',
      startedAtMs: Date.parse(record.startTime),
      completedAtMs: Date.parse(record.completionTime),
    });
  });

  test('has an unknown selection when the spec has changed', () => {
    expect(shown({ ...known, history: [record] })).not.toHaveProperty('selection');
    expect(shown({ ...known, history: [record] }, 2)).toMatchObject({ rolloutId: '2-19.1-1', selection: '' });
  });

  test('has the next number when status shows no rollout towards the target', () => {
    expect(shown({ ...known, history: [{ ...record, targetVersion: '19.0-1', id: '2-19.0-1' }] })).toMatchObject({
      rolloutId: '3-19.1-1',
      completedAtMs: undefined,
    });
  });
});

function inOrder(spec: object = {}, groups: object = {}) {
  const fleet = staged({
    scenario: { groups: { web: { count: 3, name: 'web-#', version: target }, ...groups } },
    spec: { strategy: { maxInProgress: 1000, order: 'Name' }, ...spec },
  });
  const { world, untilReason } = fleet;
  const ledgers = () => world.api.store.objects('logfleet.dev/v1alpha1/ledgers');
  return {
    ...fleet,
    ledgers,
    replaceProcess: () => {
      world.replicas[0]?.kill();
      world.start();
    },
    change: (name: string, change: object) =>
      world.model.patch({ collectors: { [name]: change } }, world.service.nowMs()),
    settle: async () => {
      world.start();
      expect(await untilReason('AllUpdated')).toBe(true);
      await world.clock.advance(minuteMs);
    },
  };
}

describe('a policy whose collectors run the target from the start', () => {
  test('has no ledger, and its status says that', async () => {
    const one = inOrder();
    await one.settle();
    expect(one.ledgers()).toEqual([]);
    expect(one.status()).toMatchObject({ noLedgerFor: expect.stringContaining('https://'), targetVersion: target });
  });

  test.each([false, true])(
    'upgrades a collector that falls behind (after a restart: %s), and writes the ledger first',
    async (restarts) => {
      const one = inOrder();
      await one.settle();
      const { history } = one.status() ?? {};
      if (restarts) one.replaceProcess();
      one.change('web-1', { version: before });
      let ledgersAtFirstTask: number | undefined;
      const isPosted = () => {
        if (one.tasks().length > 0) ledgersAtFirstTask ??= one.ledgers().length;
        return ledgersAtFirstTask !== undefined;
      };
      expect(await one.world.until(isPosted, hourMs)).toBe(true);
      expect(ledgersAtFirstTask).toBe(1);
      expect(one.status()?.rollout?.id).toBe(history?.[0]?.id);
      one.replaceProcess();
      expect(await one.world.until(() => one.at(target) === 3, hourMs)).toBe(true);
      await one.world.clock.advance(hourMs);
      expect(one.tasks()).toHaveLength(1);
      expect(one.status()).toMatchObject({ history });
      expect(one.status()).not.toHaveProperty('noLedgerFor');
    },
  );

  test('keeps its history when its target changes while no process runs', async () => {
    const one = inOrder({ target: { version: middle } }, { web: { count: 3, name: 'web-#', version: middle } });
    await one.settle();
    one.world.replicas[0]?.kill();
    one.patch({ spec: { target: { version: target } } });
    one.world.start();
    expect(await one.world.until(() => one.at(target) === 3, hourMs)).toBe(true);
    await one.world.clock.advance(hourMs);
    expect(one.status()?.history?.map(({ id, outcome }) => [id, outcome])).toEqual([
      [`2-${target}`, 'Completed'],
      [`1-${middle}`, 'Completed'],
    ]);
  });

  test('upgrades collectors that an edit selected while no process ran, and stays complete', async () => {
    const selector = (name: string) => ({ selector: { matchNames: [name] } });
    const one = inOrder(selector('web-*'), { db: { count: 2, name: 'db-#', version: before } });
    await one.settle();
    const { history = [] } = one.status() ?? {};
    one.world.replicas[0]?.kill();
    one.patch({ spec: selector('*') });
    one.world.start();
    expect(await one.world.until(() => one.at(target) === 5, hourMs)).toBe(true);
    await one.world.clock.advance(hourMs);
    expect(one.status()?.history?.map(({ id, updated }) => [id, updated])).toEqual([[history[0]?.id, 3]]);
  });

  test('begins another rollout when its Secret names another service', async () => {
    const one = inOrder();
    await one.settle();
    one.world.replicas[0]?.kill();
    const status = one.status();
    one.world.api.patch(`${policiesPath}/production/status`, { status: { noLedgerFor: 'https://former.example.com' } });
    one.world.start();
    await one.world.clock.advance(5 * minuteMs);
    expect(one.status()?.history?.[0]?.id).toBe(`2-${target}`);
    expect(one.status()?.noLedgerFor).toBe(status?.noLedgerFor);
  });

  test('distinguishes a lost ledger from a ledger that was never written', async () => {
    const one = inOrder();
    await one.settle();
    one.change('web-1', { version: before });
    expect(await one.world.until(() => one.at(target) === 3 && one.tasks().length === 1, hourMs)).toBe(true);
    await one.world.clock.advance(hourMs);
    one.world.replicas[0]?.kill();
    for (const { metadata } of one.ledgers()) one.world.api.remove(`${ledgersPath}/${metadata.name}`);
    one.world.start();
    await one.world.clock.advance(5 * minuteMs);
    expect(one.status()?.history?.[0]?.id).toBe(`2-${target}`);
  });
});

test.each([
  ['a stage', 'head, members-0-0', { strategy: { maxInProgress: 1000, order: 'Name', stages: [canary, rest] } }],
  ['a pause', 'head', { paused: true }],
])('%s needs a ledger with the shards %s', async (_, shards, spec) => {
  const one = inOrder(spec);
  one.world.start();
  await one.world.clock.advance(5 * minuteMs);
  expect(one.ledgers()).toHaveLength(shards.split(', ').length);
  expect(one.status()).not.toHaveProperty('noLedgerFor');
});

test('a policy that waits for its Secret keeps noLedgerFor in its status', async () => {
  const one = inOrder();
  await one.settle();
  const { noLedgerFor, history } = one.status() ?? {};
  one.world.replicas[0]?.kill();
  one.world.api.remove(`${secretsPath}/log-service`);
  one.world.start();
  await one.world.clock.advance(5 * minuteMs);
  expect(one.status()?.noLedgerFor).toBe(noLedgerFor);
  one.world.addSecret();
  expect(await one.untilReason('AllUpdated')).toBe(true);
  expect(one.status()).toMatchObject({ noLedgerFor, history });
  expect(one.ledgers()).toEqual([]);
});
