/** Changes each field of a policy during a rollout, and later changes it back. No collector may be upgraded twice. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { shareOf } from '../../support/random-runs.ts';
import { policiesPath, World } from '../../support/world.ts';
import { type BackedUpFields, patchTo } from './backup.ts';

const [before, middle, target, newest] = ['19.100-1', '19.120-1', '19.200-1', '19.300-1'] as const;

const always = { schedule: '0 * * * *', duration: '1h', timeZone: 'UTC' };
const canary = { name: 'canary', size: 2, soakDuration: '20m', maxFailures: 1, maxInProgress: 1 };
const linux = { name: 'linux', selector: { matchFields: { osName: 'Linux' } }, soakDuration: '0s' };
const rest = { name: 'rest', soakDuration: '0s' };
const stages = [canary, linux, rest];
const strategy = { maxInProgress: 2, order: 'Name', stages };
const backoff = { duration: '1m', factor: 1, cap: '1m' };
const maintenance = { windows: [always], exclusions: [], cutoff: '0s' };
const base = {
  credentialsSecretRef: { name: 'log-service' },
  target: { version: target },
  allowDowngrade: false,
  selector: { matchNames: ['*'] },
  exclude: [{ matchNames: ['zz-*'] }],
  priority: 0,
  mode: 'Enforce',
  paused: false,
  resyncInterval: '5m',
  offlinePolicy: 'Skip',
  strategy,
  failurePolicy: { maxFailures: 3, minSamples: 2, action: 'Pause' },
  retryPolicy: { limit: 1, backoff },
  maintenance,
};

type Stands = 'stands' | 'goes on';

interface Change {
  /** Spec fields to change, with their new values. */
  readonly to: BackedUpFields;
  /**
   * Expected upgrades while the field has the changed value. `stands`: no upgrade starts. `goes on` (default): upgrades
   * continue.
   */
  readonly meanwhile?: Stands;
  /** Maximum number of upgrades that may start while the field has the changed value. Default: unlimited. */
  readonly atMost?: number;
  /** Whether a change to the field also changes the target version, and therefore starts another rollout. */
  readonly retargets?: true;
}

const stagesTo = (...list: readonly object[]): BackedUpFields => ({ strategy: { ...strategy, stages: list } });
const analysisTo = (changed: object): BackedUpFields => {
  const messages = { minRatio: '50%', duration: '5m', baseline: 'BeforeUpgrade', minMessages: 10, ...changed };
  const analyzed = { soakDuration: '20m', analysis: { messages } };
  return stagesTo({ ...canary, ...analyzed }, { ...linux, ...analyzed }, rest);
};
const selecting = (selector: object): BackedUpFields => ({ selector });
const versionIs = (operator: string, value: string) => ({ key: 'collectorVersion', operator, values: [value] });
const windowTo = (window: object): BackedUpFields => ({ maintenance: { ...maintenance, windows: [window] } });
const freeze = { name: 'freeze', startTime: '2020-01-01T00:00:00Z', endTime: '2099-01-01T00:00:00Z' };

const changes: Readonly<Record<string, Change>> = {
  'credentialsSecretRef.name': { to: { credentialsSecretRef: { name: 'other' } } },
  'target.version': { to: { target: { version: middle } }, retargets: true },
  'target.channel': { to: { target: { channel: 'Latest' } }, retargets: true },
  'target.versionPattern': { to: { target: { channel: 'Latest', versionPattern: '19.2*' } } },
  'target.minAge': { to: { target: { channel: 'Latest', versionPattern: '19.*', minAge: '168h' } } },
  allowDowngrade: { to: { allowDowngrade: true } },
  'selector.matchNames[]': { to: selecting({ matchNames: ['none'] }), meanwhile: 'stands' },
  'selector.matchFields': { to: selecting({ matchFields: { osName: 'Linux' } }) },
  'selector.matchExpressions[].key': {
    to: selecting({ matchExpressions: [{ key: 'osName', operator: 'Exists' }] }),
  },
  'selector.matchExpressions[].operator': { to: selecting({ matchExpressions: [versionIs('Lt', target)] }) },
  'selector.matchExpressions[].values[]': { to: selecting({ matchExpressions: [versionIs('Lt', middle)] }) },
  'exclude[].matchNames[]': { to: { exclude: [{ matchNames: ['web-*', 'db-*'] }] }, meanwhile: 'stands' },
  'exclude[].matchFields': { to: { exclude: [{ matchFields: { osName: 'Windows' } }] } },
  'exclude[].matchExpressions[].key': {
    to: { exclude: [{ matchExpressions: [{ key: 'osName', operator: 'DoesNotExist' }] }] },
  },
  'exclude[].matchExpressions[].operator': { to: { exclude: [{ matchExpressions: [versionIs('Gt', target)] }] } },
  'exclude[].matchExpressions[].values[]': { to: { exclude: [{ matchExpressions: [versionIs('Lt', before)] }] } },
  priority: { to: { priority: 7 } },
  mode: { to: { mode: 'Observe' }, meanwhile: 'stands' },
  paused: { to: { paused: true }, meanwhile: 'stands' },
  resyncInterval: { to: { resyncInterval: '1h' } },
  offlinePolicy: { to: { offlinePolicy: 'Wait' } },
  'strategy.maxInProgress': { to: { strategy: { ...strategy, maxInProgress: 1 } } },
  'strategy.order': { to: { strategy: { ...strategy, order: 'NewestVersionFirst' } } },
  'strategy.stages[].name': { to: stagesTo({ ...canary, name: 'first' }, linux, rest) },
  'strategy.stages[].size': { to: stagesTo({ ...canary, size: '50%' }, linux, rest) },
  'strategy.stages[].selector.matchNames[]': {
    to: stagesTo(canary, { ...linux, selector: { matchNames: ['web-*'] } }, rest),
  },
  'strategy.stages[].selector.matchFields': {
    to: stagesTo(canary, { ...linux, selector: { matchFields: { osName: 'Windows' } } }, rest),
  },
  'strategy.stages[].selector.matchExpressions[].key': {
    to: stagesTo(canary, { ...linux, selector: { matchExpressions: [{ key: 'osName', operator: 'Exists' }] } }, rest),
  },
  'strategy.stages[].selector.matchExpressions[].operator': {
    to: stagesTo(
      canary,
      { ...linux, selector: { matchExpressions: [{ key: 'osName', operator: 'NotIn', values: ['Linux'] }] } },
      rest,
    ),
  },
  'strategy.stages[].selector.matchExpressions[].values[]': {
    to: stagesTo(
      canary,
      { ...linux, selector: { matchExpressions: [{ key: 'osName', operator: 'In', values: ['Windows'] }] } },
      rest,
    ),
  },
  'strategy.stages[].maxInProgress': { to: stagesTo(canary, { ...linux, maxInProgress: 1 }, rest) },
  'strategy.stages[].maxFailures': {
    to: stagesTo({ ...canary, maxFailures: '10%' }, { ...linux, maxFailures: 0 }, rest),
  },
  'strategy.stages[].soakDuration': {
    to: stagesTo({ ...canary, soakDuration: '5h' }, { ...linux, soakDuration: '1h' }, rest),
  },
  'strategy.stages[].analysis.messages.minRatio': { to: analysisTo({ minRatio: '90%' }) },
  'strategy.stages[].analysis.messages.duration': { to: analysisTo({ duration: '20m' }) },
  'strategy.stages[].analysis.messages.baseline': { to: analysisTo({ baseline: 'DayBefore' }) },
  'strategy.stages[].analysis.messages.minMessages': { to: analysisTo({ minMessages: 1 }) },
  'strategy.stages[].analysis.messages.scope': { to: analysisTo({ scope: '_sourceCategory=fleet' }) },
  'strategy.stages[].approval': { to: stagesTo(canary, linux, { ...rest, approval: 'Required' }) },
  'failurePolicy.maxFailures': { to: { failurePolicy: { ...base.failurePolicy, maxFailures: 0 } } },
  'failurePolicy.minSamples': { to: { failurePolicy: { ...base.failurePolicy, minSamples: 50 } } },
  'failurePolicy.action': { to: { failurePolicy: { ...base.failurePolicy, action: 'Rollback' } } },
  'retryPolicy.limit': { to: { retryPolicy: { limit: 0, backoff } } },
  'retryPolicy.backoff.duration': { to: { retryPolicy: { limit: 1, backoff: { ...backoff, duration: '30s' } } } },
  'retryPolicy.backoff.factor': { to: { retryPolicy: { limit: 1, backoff: { ...backoff, factor: 3 } } } },
  'retryPolicy.backoff.cap': { to: { retryPolicy: { limit: 1, backoff: { ...backoff, cap: '5m' } } } },
  'maintenance.windows[].schedule': { to: windowTo({ ...always, schedule: '0 0 1 1 *' }), meanwhile: 'stands' },
  'maintenance.windows[].duration': { to: windowTo({ ...always, duration: '2h' }) },
  'maintenance.windows[].timeZone': { to: windowTo({ ...always, timeZone: 'Asia/Tokyo' }) },
  'maintenance.windows[].timeZoneSource': {
    to: windowTo({ schedule: always.schedule, duration: always.duration, timeZoneSource: 'Collector' }),
  },
  'maintenance.exclusions[].name': {
    to: { maintenance: { ...maintenance, exclusions: [freeze] } },
    meanwhile: 'stands',
  },
  'maintenance.exclusions[].startTime': {
    to: { maintenance: { ...maintenance, exclusions: [{ ...freeze, startTime: '2098-01-01T00:00:00Z' }] } },
  },
  'maintenance.exclusions[].endTime': {
    to: { maintenance: { ...maintenance, exclusions: [{ ...freeze, endTime: '2020-01-02T00:00:00Z' }] } },
  },
  'maintenance.cutoff': { to: { maintenance: { ...maintenance, cutoff: '30m' } } },
};

/** Changes that replace a whole section of the spec. */
const parts: Readonly<Record<string, Change>> = {
  'no stages': { to: { strategy: { maxInProgress: 2, order: 'Name' } } },
  'the first stage removed': { to: stagesTo(linux, rest) },
  'the current stage removed': { to: stagesTo(canary, rest) },
  'stages in another order': { to: stagesTo({ ...linux }, { ...canary }, rest) },
  'another stage before the current one': {
    to: stagesTo(canary, { ...canary, name: 'second', soakDuration: '5h' }, linux, rest),
  },
  'another stage after the current one': { to: stagesTo(canary, linux, { ...canary, name: 'later' }, rest) },
  'a stage of a size beyond the fleet': {
    to: stagesTo(canary, { ...canary, name: 'all', size: 100_000, soakDuration: '0s' }, rest),
  },
  'no failure policy': { to: { failurePolicy: undefined } },
  'no windows': { to: { maintenance: undefined } },
};

function rollout() {
  const linuxHost = { version: before, osName: 'Linux', timeZone: 'Europe/Berlin', messagesPerMinute: 20 };
  const world = new World({
    scenario: {
      builds: [before, { version: middle, latest: true }, target, newest],
      groups: { web: { count: 16, ...linuxHost }, db: { count: 4, ...linuxHost, osName: 'Windows' } },
      upgrade: { duration: '4m' },
    },
  });
  world.addSecret();
  world.addSecret('other');
  world.addPolicy('production', base);
  const snapshot = () => world.snapshot();
  const path = `${policiesPath}/production`;
  return {
    world,
    status: () => world.policy('production')?.status,
    tasks: () => snapshot().tasks,
    at: (version: string) => snapshot().collectors.filter((one) => one.version === version).length,
    write: (spec: BackedUpFields) => {
      const wanted = Object.fromEntries(
        Object.entries({ ...base, ...spec }).filter(([, value]) => value !== undefined),
      );
      world.api.patch(path, {
        spec: patchTo((world.api.get(path) as unknown as { spec: BackedUpFields }).spec, wanted),
      });
    },
  };
}

describe.each([
  ['changed and changed back', changes],
  ['changed in parts and changed back', parts],
])('%s during a rollout:', (_, table) => {
  test.each(shareOf(Object.entries(table), 2, 0))(
    '%s',
    async (_name, { to, meanwhile = 'goes on', atMost = 20, retargets }) => {
      const { world, status, tasks, at, write } = rollout();
      world.start();
      expect(await world.until(() => tasks().length >= 6, 3 * hourMs)).toBe(true);
      const canaries = new Set(
        tasks()
          .slice(0, 2)
          .map(({ collectorId }) => collectorId),
      );

      write(to);
      await world.clock.advance(30_000);
      const count = tasks().length;
      await world.clock.advance(15 * minuteMs);
      expect(tasks().length > count ? 'goes on' : 'stands').toBe(meanwhile);
      expect(tasks().length - count).toBeLessThanOrEqual(atMost);

      write({});
      expect(
        await world.until(() => at(target) === 20 && world.ready('production')?.status === 'True', 12 * hourMs),
      ).toBe(true);
      expect(status()?.versions).toEqual([{ version: target, count: 20 }]);
      if (retargets) {
        expect(status()?.history?.map(({ outcome }) => outcome)).toEqual(['Completed', 'Superseded', 'Superseded']);
        return;
      }
      expect(status()?.history).toMatchObject([{ id: `1-${target}`, outcome: 'Completed', failed: 0 }]);
      expect(tasks()).toHaveLength(20);
      expect(new Set(tasks().map(({ collectorId }) => collectorId)).size).toBe(20);
      // The change must not move a collector to another stage.
      for (const { state, members } of status()?.stages ?? [])
        expect([state, members > 0]).toEqual(members > 0 ? ['Completed', true] : [state, false]);
      expect(status()?.stages?.[0]?.members).toBe(canaries.size);
    },
  );
});

interface FieldSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
}

/** Paths of all spec fields that users can set. */
function leavesOf({ properties, items }: FieldSchema, path: string): readonly string[] {
  if (properties) {
    return Object.entries(properties).flatMap(([name, one]) => leavesOf(one, path === '' ? name : `${path}.${name}`));
  }
  return items ? leavesOf(items, `${path}[]`) : [path];
}

test('every spec field in the CRD has a case in this file', () => {
  const crd = parse(readFileSync('crds/collector-version-policy.yaml', 'utf8'));
  const { spec } = crd.spec.versions[0].schema.openAPIV3Schema.properties as Readonly<Record<string, FieldSchema>>;
  expect(Object.keys(changes).sort()).toEqual([...leavesOf(spec as FieldSchema, '')].sort());
});
