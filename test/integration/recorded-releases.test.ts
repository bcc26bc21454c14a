/** Tests that this version continues a rollout and an export from the state stored by an earlier release. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hourMs } from '../../src/base/time-units.ts';
import {
  collectorCount,
  messages,
  newExport,
  policyPath,
  type UnfinishedRollout,
  unfinishedRollout,
} from '../recorded/unfinished-work.ts';
import type { World } from '../support/world.ts';
import { ledgersPath } from '../support/world.ts';

const recorded = join(import.meta.dirname, '../recorded');
const releases = readdirSync(recorded).filter((name) => name.startsWith('release-'));

function read<T>(release: string, file: string): T {
  return JSON.parse(readFileSync(join(recorded, release, file), 'utf8'));
}

function replaceState({ api }: World, { ledgers, status }: UnfinishedRollout): void {
  const present = api.store.objects('logfleet.dev/v1alpha1/ledgers');
  const head = present.find(({ metadata }) => metadata.name.endsWith('-head'));
  if (!head) throw new Error('the policy has no ledger yet');
  for (const { metadata } of present) api.remove(`${ledgersPath}/${metadata.name}`);
  for (const [shard, content] of Object.entries(ledgers)) {
    const name = head.metadata.name.replace(/head$/, shard);
    api.create(ledgersPath, { ...head, metadata: { ...head.metadata, name }, shard, content } as never);
  }
  api.patch(`${policyPath}/status`, { status: null });
  api.patch(`${policyPath}/status`, { status });
}

describe.each(releases)('from the state of %s', (release) => {
  test('a rollout continues, and upgrades each collector once', async () => {
    const world = await unfinishedRollout();
    const state = read<UnfinishedRollout>(release, 'rollout.json');
    replaceState(world, state);
    world.start();
    expect(await world.until(() => world.ready('production')?.reason === 'AllUpdated', 4 * hourMs)).toBe(true);
    const { tasks } = world.snapshot();
    expect(new Set(tasks.map(({ collectorId }) => collectorId)).size).toBe(collectorCount);
    expect(tasks).toHaveLength(collectorCount);
    const { rollout } = state.status as { readonly rollout: { readonly id: string } };
    expect(world.policy('production')?.status?.history?.[0]).toMatchObject({ id: rollout.id, outcome: 'Completed' });
  });

  test('an export continues, keeps the files, and writes each row once', async () => {
    const world = newExport();
    const objects = Object.entries(read<Record<string, string>>(release, 'export.json'));
    for (const [name, content] of objects) world.store.objects.set(name, Buffer.from(content, 'base64'));
    world.start();
    expect(await world.untilReason('Exported', 4 * hourMs)).toBe(true);
    expect(world.rows()).toEqual(messages.map(({ raw }) => raw).sort());
    const files = world.manifest().intervals.flatMap((interval) => interval.files.map(({ name }) => name));
    const ofRelease = objects.flatMap(([name]) => /\/(data\/.*)$/.exec(name)?.[1] ?? []);
    expect(ofRelease.length).toBeGreaterThan(5);
    // The killed process of the earlier release may have left files of an interval that it did not commit. The manifest
    // may omit these files, because the interval is searched again.
    const committed = objects.filter(([name]) => name.includes('/commits/')).length;
    expect(ofRelease.filter((name) => files.includes(name)).length).toBeGreaterThanOrEqual(committed);
  });
});
