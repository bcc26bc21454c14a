/** Tests `logfleet run DIR` with exports, and kills the process at some steps of an export. */
import { afterAll, describe, expect, vi } from 'vitest';
import { placeKinds, test, testExportCrashes, writeExport } from './support/export-crashes.ts';
import { expectExported, stopStores, unfinished } from './support/exports.ts';

// Limits the number of concurrent tests, so that delayed requests do not exceed the request rate limit.
vi.setConfig({ maxConcurrency: 8 });

afterAll(() => stopStores());

describe.concurrent.each(placeKinds)('an export to a destination of the kind %s', (kind) => {
  test('runs from the manifests to completion, and is complete at the next start', async ({
    manifests,
    run,
    placeOf,
  }) => {
    const place = await placeOf(kind);
    await writeExport(manifests, place);
    const { status, stdout, stderr } = await (await run(place.flags)).ended;
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(
      /^logging\/audit: Exported: 600 rows are in \d+ files, and the manifest proves by digests that no row is missing\.\n$/,
    );
    const { fingerprint = '' } = (await manifests.export('audit')).status ?? {};
    await expectExported(place, fingerprint);
    expect(await (await run(place.flags)).ended).toMatchObject({ status: 0, stdout });
  });
});

test.concurrent('an export leaves no search job after SIGINT, and continues at the next start', async ({
  tenant,
  manifests,
  run,
  placeOf,
}) => {
  const place = await placeOf('volume');
  await writeExport(manifests, place);
  await tenant.equip({ faults: { unfinished } });
  const first = await run(place.flags);
  await tenant.journalUntil((journal) => journal.filter(({ operation }) => operation === 'createJob').length >= 4);
  first.signal('SIGINT');
  expect(await first.ended).toMatchObject({ status: 130, signal: null, stdout: '' });
  const jobs = await tenant.jobs();
  expect(jobs).toHaveLength(3);
  expect(jobs.filter(({ ended }) => ended !== 'deleted')).toEqual([]);
  expect((await manifests.export('audit')).status?.jobs).toEqual([]);
  await tenant.equip({ faults: { unfinished: null } });
  expect((await (await run(place.flags)).ended).status).toBe(0);
  await expectExported(place, (await manifests.export('audit')).status?.fingerprint ?? '');
});

testExportCrashes('volume', [['export.plan:after:1', 'export.stagePart:after:2', 'export.proof:after:1']]);

testExportCrashes('s3', [['export.stagePart:after:1', 'export.commit:after:1', 'export.manifest:before:1']]);
