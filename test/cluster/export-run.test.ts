/** Tests exports with an operator installed from `manifests/`. */
import { expect, vi } from 'vitest';
import type { SearchExport } from '../../src/api/kinds.ts';
import { resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { conditionOf, type Namespace, test } from '../e2e/support/cluster.ts';
import { type ExportPlace, type ExportSpecPart, expectExported, exportManifest } from '../e2e/support/exports.ts';
import { logs, type Tenant } from '../e2e/support/simulator.ts';
import { callApi } from '../support/control-plane.ts';

vi.setConfig({ maxConcurrency: 20 });

async function apply(
  namespace: Namespace,
  tenant: Tenant,
  place: ExportPlace,
  spec: ExportSpecPart = {},
): Promise<void> {
  await namespace.apply(namespace.secretManifest(tenant), exportManifest(place, namespace.name, spec));
}

const isAlive = (count: number | undefined) => (count ?? 0) > 0;

test.concurrent('an applied export completes, and status, Events and commands agree', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place);
  const resource = await namespace.exportReason('audit', 'Exported');
  const { status } = resource;
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
  expect(status?.conditions?.map(({ type, status: holds, reason }) => [type, holds, reason])).toEqual([
    ['Ready', 'True', 'Exported'],
    ['Complete', 'True', 'Exported'],
  ]);
  expect(status).toMatchObject({ observedGeneration: 1, jobs: [], manifest: { rows: logs.messages, complete: true } });
  const shown = await namespace.kubectl(['get', 'sx']);
  expect(shown.stdout.split('\n').map((line) => line.split(/\s{2,}/))).toMatchObject([
    ['NAME', 'STATE', 'ROWS', 'PROGRESS', 'AGE'],
    ['audit', 'Exported', String(logs.messages), '100%', expect.stringMatching(/^[\dms]+$/)],
    [''],
  ]);
  const eventReasons = ['Exporting', 'Exported'];
  await namespace.events(resource, eventReasons);
  const { stdout: described } = await namespace.kubectl(['describe', 'sx', 'audit']);
  expect(described).toContain(conditionOf(resource, 'Ready')?.message);
  for (const reason of eventReasons) expect(described).toMatch(new RegExp(`Normal +${reason} `));
  const waited = await namespace.kubectl(['wait', '--for=condition=Complete', 'sx/audit', '--timeout=300s']);
  expect(waited.status).toBe(0);
});

test.concurrent('a paused export lets running searches end, and resumes without the annotation', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  // After the first search, the pages are slow, so that the export cannot complete before it is paused.
  const later = Array.from({ length: 20 }, (_, index) => 3 + index);
  const slow = { kind: 'delay', delay: '10s', operations: ['listMessages'], nth: later } as const;
  await tenant.equip({ faults: { slow } });
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place, { parallelism: 1 });
  await namespace.exportUntil('audit', ({ status }) => isAlive(status?.progress?.intervalsDone));
  await namespace.kubectl(['annotate', 'sx', 'audit', 'logfleet.dev/paused=true']);
  const paused = await namespace.exportReason('audit', 'Paused');
  await tenant.equip({ faults: { slow: null } });
  expect(conditionOf(paused, 'Ready')?.status).toBe('Unknown');
  // A running search may not have created its search job yet, so the test also waits until no search is running.
  const hasSearch = (each: SearchExport) => conditionOf(each, 'Ready')?.message.includes('running search') ?? true;
  await namespace.exportUntil('audit', (each) => each.status?.jobs?.length === 0 && !hasSearch(each));
  const created = () => tenant.journal().filter(({ operation }) => operation === 'createJob').length;
  const atPause = created();
  await namespace.kubectl(['annotate', 'sx', 'audit', 'logfleet.dev/requestedAt=now']);
  // The request waits for the end of the pause.
  const asked = await namespace.editExport('audit');
  expect([created(), asked.status?.lastHandledReconcileAt]).toEqual([atPause, undefined]);
  await namespace.kubectl(['annotate', 'sx', 'audit', 'logfleet.dev/paused-']);
  await namespace.exportUntil('audit', ({ status }) => status?.lastHandledReconcileAt === 'now');
  const { status } = await namespace.exportReason('audit', 'Exported');
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});

test.concurrent('an export that exceeded its deadline continues after the deadline is raised', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place, { activeDeadlineSeconds: 4 });
  const failed = await namespace.exportReason('audit', 'DeadlineExceeded');
  expect(['Failed', 'Stalled'].map((type) => conditionOf(failed, type)?.status)).toEqual(['True', 'True']);
  const patch = JSON.stringify({ spec: { activeDeadlineSeconds: 3_600 } });
  await namespace.kubectl(['patch', 'sx', 'audit', '--type=merge', '-p', patch]);
  const { status } = await namespace.exportReason('audit', 'Exported');
  expect(status?.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Complete']);
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});

test.concurrent('fields that determine the files are immutable, and other fields are not', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place, { paused: true });
  await namespace.exportReason('audit', 'Paused');
  const patch = (spec: object) =>
    namespace.kubectl(['patch', 'sx', 'audit', '--type=merge', '-p', JSON.stringify({ spec })]);
  const refused = await patch({ query: 'error' });
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain('create another SearchExport with a new name');
  expect((await patch({ paused: false, parallelism: 2 })).status).toBe(0);
  await namespace.exportReason('audit', 'Exported');
});

test.concurrent('a completed export is removed after its TTL, and is complete immediately when it is recreated', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place);
  const { metadata, status } = await namespace.exportReason('audit', 'Exported');
  // The TTL is set only now, because the export could otherwise be removed before the test sees that it is complete.
  const patch = JSON.stringify({ spec: { ttlSecondsAfterFinished: 2 } });
  await namespace.kubectl(['patch', 'sx', 'audit', '--type=merge', '-p', patch]);
  const path = resourcePath('SearchExport', namespace.name, 'audit');
  await vi.waitUntil(async () => (await callApi('GET', path)).status === 404, { timeout: 300_000, interval: 100 });
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
  const created = () => tenant.journal().filter(({ operation }) => operation === 'createJob').length;
  const before = created();
  await apply(namespace, tenant, place);
  const again = await namespace.exportReason('audit', 'Exported');
  expect(again.metadata.uid).not.toBe(metadata.uid);
  expect(created()).toBe(before);
});

test.concurrent('a deleted export leaves no search job and no unfinished file', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  await operator('logfleet-0', place.flags);
  await apply(namespace, tenant, place);
  await namespace.exportUntil('audit', ({ status }) => isAlive(status?.progress?.intervalsDone));
  await namespace.kubectl(['delete', 'sx', 'audit']);
  // A request whose response arrives too late is sent again, so the test counts jobs and not requests.
  await tenant.journalUntil((journal) => {
    const jobsOf = (operation: string) =>
      journal.filter((entry) => entry.operation === operation && entry.jobId !== null).map(({ jobId }) => jobId);
    const deleted = new Set(jobsOf('deleteJob'));
    return jobsOf('createJob').every((id) => deleted.has(id));
  });
  // The new export has the same name as the deleted one, so it reuses the intervals written by the deleted export.
  await apply(namespace, tenant, place);
  const { status } = await namespace.exportReason('audit', 'Exported');
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});

test.concurrent('after the leader is killed, the second operator continues the export', async ({
  tenant,
  namespace,
  operator,
  place,
}) => {
  const first = await operator('logfleet-0', ['--leader-election', ...place.flags]);
  await apply(namespace, tenant, place);
  await namespace.exportUntil('audit', ({ status }) => isAlive(status?.progress?.intervalsDone));
  await operator('logfleet-1', ['--leader-election', ...place.flags]);
  await first.kill();
  const { status } = await namespace.exportReason('audit', 'Exported');
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});
