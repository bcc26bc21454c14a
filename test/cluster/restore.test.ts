/** Restores policies and exports from a backup with kubectl, as described in docs/backup.md. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { SearchExport } from '../../src/api/kinds.ts';
import { objectPath, resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { conditionOf, type Namespace, test } from '../e2e/support/cluster.ts';
import { expectExported, exportManifest } from '../e2e/support/exports.ts';
import { oldVersion } from '../e2e/support/simulator.ts';
import { callApi } from '../support/control-plane.ts';

vi.setConfig({ maxConcurrency: 20 });

interface BackedUpObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly annotations?: object };
}

/** Backs up policies and exports as described in docs/backup.md. */
async function backup(namespace: Namespace): Promise<string> {
  const { stdout } = await namespace.kubectl(['get', 'cvp,sx', '-o', 'json']);
  const { items, ...list } = JSON.parse(stdout) as { readonly items: readonly BackedUpObject[] };
  const kept = items.map(({ metadata: { name, namespace: of, annotations }, ...item }) => ({
    ...item,
    metadata: { name, namespace: of, ...(annotations && { annotations }) },
  }));
  return JSON.stringify({ ...list, items: kept });
}

/**
 * Deletes the policies, exports and ledgers. The test cluster has no garbage collector, so the ledgers have to be
 * deleted explicitly.
 */
async function lose(namespace: Namespace): Promise<void> {
  await namespace.kubectl(['delete', 'cvp,sx,ledgers', '--all']);
  for (const path of [resourcePath('CollectorVersionPolicy', namespace.name), objectPath('ledgers', namespace.name)]) {
    expect((await callApi('GET', path)).body.items).toEqual([]);
  }
}

async function restore(namespace: Namespace, content: string): Promise<void> {
  for (const args of [
    ['create', '-f', '-'],
    ['replace', '--subresource=status', '-f', '-'],
  ]) {
    const { status, stderr } = await namespace.kubectl(args, content);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  }
}

function transitionOf(resource: SearchExport): string {
  return conditionOf(resource, 'Ready')?.lastTransitionTime ?? '';
}

/**
 * Waits until the next full second after `time`. An object created earlier could get `time` as its creation time,
 * because the API server rounds times down to whole seconds.
 */
async function secondAfter(time: string): Promise<void> {
  const nextMs = Math.floor(Date.parse(time) / 1_000) * 1_000 + 1_000;
  await vi.waitUntil(() => Date.now() >= nextMs, { timeout: 300_000 });
}

test.concurrent('a stopped rollout stays stopped, and retries no collector', async ({
  tenant,
  namespace,
  operator,
}) => {
  const fails = { duration: '1s', outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } as const;
  await tenant.equip({ groups: { web: { count: 4, version: oldVersion, upgrade: fails } } });
  const first = await operator();
  const failurePolicy = { maxFailures: 0, minSamples: 1, action: 'Pause' };
  const policy = namespace.policyManifest('production', {
    strategy: { maxInProgress: 1 },
    retryPolicy: { limit: 0 },
    failurePolicy,
  });
  await namespace.apply(namespace.secretManifest(tenant), policy);
  await namespace.reason('production', 'RolloutStopped');
  await first.kill();
  const content = await backup(namespace);
  await lose(namespace);
  await restore(namespace, content);
  const tasks = (await tenant.tasks()).length;
  await operator('logfleet-1');
  await namespace.kubectl(['annotate', 'cvp', 'production', 'logfleet.dev/requestedAt=now']);
  await namespace.policyUntil('production', ({ status }) => status?.lastHandledReconcileAt === 'now');
  const restored = await namespace.reason('production', 'RolloutStopped');
  expect(conditionOf(restored, 'Stalled')?.reason).toBe('RolloutStopped');
  expect((await tenant.tasks()).length).toBe(tasks);
});

test.concurrent('a complete export whose files are lost is exported again, and each row is written once', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  const first = await operator('logfleet-0', place.flags);
  await namespace.apply(namespace.secretManifest(tenant), exportManifest(place, namespace.name));
  await namespace.exportReason('audit', 'Exported');
  await first.kill();
  // The operator may have written the status once more before it was killed.
  const completed = await namespace.exportReason('audit', 'Exported');
  await secondAfter(transitionOf(completed));
  const content = await backup(namespace);
  await lose(namespace);
  const [, directory = ''] = place.flags[1]?.split('=') ?? [];
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
  await restore(namespace, content);
  const restored = await namespace.exportReason('audit', 'Exported');
  expect(restored.status).toEqual(completed.status);
  expect(readdirSync(directory)).toEqual([]);
  await operator('logfleet-1', place.flags);
  const { status } = await namespace.exportUntil(
    'audit',
    (resource) => conditionOf(resource, 'Complete') !== undefined && transitionOf(resource) !== transitionOf(completed),
  );
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});
