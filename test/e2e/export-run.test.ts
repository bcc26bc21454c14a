/** `logfleet run DIR` with exports, from the first search to the manifest, with `kill -9` at every boundary. */
import { afterAll, describe, expect, vi } from 'vitest';
import type { SearchExport } from '../../src/api/kinds.ts';
import { test as base } from './support/end-to-end.ts';
import { expectExported, exportManifest, type Place, s3Place, stopGateway, volumePlace } from './support/exports.ts';
import type { ManifestDirectory } from './support/manifest-directory.ts';

// Each test keeps a processor busy. More tests at once would delay requests, so that too many come in one second.
vi.setConfig({ maxConcurrency: 8, testTimeout: 300_000 });

const preload = new URL('./support/kill-at-boundary.ts', import.meta.url).href;

afterAll(() => stopGateway());

const kinds = ['volume', 's3'] as const;

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
const test = base.extend('placeOf', async ({}, { onCleanup }) => {
  return async (kind: (typeof kinds)[number]): Promise<Place> => {
    const place = kind === 'volume' ? volumePlace() : await s3Place('logging');
    onCleanup(() => place.remove());
    return place;
  };
});

async function write(manifests: ManifestDirectory, place: Place, spec: object = {}): Promise<void> {
  await manifests.write('export.yaml', JSON.stringify(exportManifest(place, 'logging', spec)));
  for (const [index, each] of place.manifests.entries()) await manifests.write(`${index}.yaml`, JSON.stringify(each));
}

describe.concurrent.each(kinds)('an export to a %s', (kind) => {
  test('runs from the manifests to the end, and is complete at the next start', async ({ manifests, run, placeOf }) => {
    const place = await placeOf(kind);
    await write(manifests, place);
    const { status, stdout, stderr } = await (await run(place.flags)).ended;
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(
      /^logging\/audit: Exported: 600 rows are in \d+ files, and the manifest proves that these are all\.\n$/,
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
  await write(manifests, place);
  const first = await run(place.flags);
  const sent = (operation: string) => tenant.journal().filter((entry) => entry.operation === operation).length;
  await tenant.journalUntil(() => sent('createJob') >= 4);
  first.signal('SIGINT');
  expect(await first.ended).toMatchObject({ status: 130, signal: null, stdout: '' });
  expect(sent('deleteJob')).toBe(sent('createJob'));
  expect((await manifests.export('audit')).status?.jobs).toEqual([]);
  expect((await (await run(place.flags)).ended).status).toBe(0);
  await expectExported(place, (await manifests.export('audit')).status?.fingerprint ?? '');
});

/** Boundaries at which a process is killed, one start for each. */
const crashes: readonly (readonly string[])[] = [
  ['export.createJob:before:1'],
  ['export.createJob:after:1'],
  ['export.plan:before:1'],
  ['export.plan:after:1'],
  ['export.createJob:after:4', 'export.readPage:after:2'],
  ['export.readPage:before:2'],
  ['export.readPage:after:4'],
  ['export.stagePart:before:1', 'export.stagePart:after:2'],
  ['export.stagePart:after:1'],
  ['export.commit:before:1', 'export.commit:before:2'],
  ['export.commit:after:1', 'export.commit:after:2'],
  ['export.proof:before:1'],
  ['export.proof:after:1'],
  ['export.manifest:before:1'],
  ['export.manifest:after:1'],
];

describe.concurrent.each(kinds)('an export to a %s', (kind) => {
  test.for(crashes)(
    'E3, E15: killed at %j it has every row once after the next start, and leaves nothing else',
    async (places, { manifests, run, placeOf }) => {
      const place = await placeOf(kind);
      await write(manifests, place);
      for (const at of places) {
        const env = { NODE_OPTIONS: `--import ${preload}`, LOGFLEET_TEST_KILL_AT: at };
        expect((await (await run(place.flags, { env })).ended).signal).toBe('SIGKILL');
      }
      const { status } = await (await run(place.flags)).ended;
      expect(status).toBe(0);
      const { status: found } = (await manifests.export('audit')) as SearchExport;
      await expectExported(place, found?.fingerprint ?? '');
    },
  );
});
