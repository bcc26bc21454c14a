/** Kills an export at some of its steps. The export must complete after the next start (E3, E15). */
import { describe, expect } from 'vitest';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { test as base } from './end-to-end.ts';
import { type ExportPlace, expectExported, exportManifest, gcsPlace, s3Place, volumePlace } from './exports.ts';
import type { ManifestDirectory } from './manifest-directory.ts';
import { killAtBoundary } from './program.ts';

export const placeKinds = ['volume', 's3', 'gcs'] as const;
export type PlaceKind = (typeof placeKinds)[number];

const places: Readonly<Record<PlaceKind, () => ExportPlace | Promise<ExportPlace>>> = {
  volume: volumePlace,
  s3: () => s3Place('logging'),
  gcs: () => gcsPlace('logging'),
};

// biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
export const test = base.extend('placeOf', async ({}, { onCleanup }) => {
  return async (kind: PlaceKind): Promise<ExportPlace> => {
    const place = await places[kind]();
    onCleanup(() => place.remove());
    return place;
  };
});

export async function writeExport(manifests: ManifestDirectory, place: ExportPlace, spec: object = {}): Promise<void> {
  await manifests.write('export.yaml', JSON.stringify(exportManifest(place, 'logging', spec)));
  for (const [index, each] of place.manifests.entries()) await manifests.write(`${index}.yaml`, JSON.stringify(each));
}

/** Defines one test per list of steps. The test kills the process at each of these steps, and restarts it. */
export function testExportCrashes(kind: PlaceKind, crashes: readonly (readonly string[])[]): void {
  describe.concurrent(`an export to a destination of the kind ${kind}`, () => {
    test.for(crashes)(
      'that is killed at %j has every row once after the next start, and leaves nothing else (E3, E15)',
      async (places, { manifests, run, placeOf }) => {
        const place = await placeOf(kind);
        await writeExport(manifests, place);
        for (const at of places) {
          const env = { NODE_OPTIONS: `--import ${killAtBoundary}`, LOGFLEET_TEST_KILL_AT: at };
          expect((await (await run(place.flags, { env })).ended).signal).toBe('SIGKILL');
        }
        const { status } = await (await run(place.flags)).ended;
        expect(status).toBe(0);
        const { status: found } = (await manifests.export('audit')) as SearchExport;
        await expectExported(place, found?.fingerprint ?? '');
      },
    );
  });
}
