/** Settings for a simulated operator that exports into an in-memory store. */
import { gunzipSync } from 'node:zlib';
import { type Random, seededRandom } from '../../src/base/random.ts';
import type { OperatorOptions } from '../../src/cli/operator/operator.ts';
import type { CommitRecord } from '../../src/destination/commit-record.ts';
import type { DestinationSettings } from '../../src/destination/open-destination.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import type { ExportPlaces, ExportSettings } from '../../src/export/resource/export-settings.ts';
import { MemoryDestination, MemoryStore } from './memory-destination.ts';

export interface MemoryExportsOptions {
  readonly settings?: Partial<ExportSettings>;
  readonly places?: Partial<ExportPlaces>;
}

export class MemoryExports {
  readonly store = new MemoryStore();
  /** Options of the operator. */
  readonly options: NonNullable<OperatorOptions['exports']>;
  /** Number of destinations that the operator has opened. */
  opened = 0;
  onOpen: (destination: MemoryDestination, settings: DestinationSettings) => void = () => {};
  #processes = 0;

  constructor({ settings = {}, places = {} }: MemoryExportsOptions = {}) {
    const volumes = new Map([['exports', '/exports']]);
    this.options = {
      settings,
      places: { volumes, allowAmbientCredentials: false, environment: {}, ...places },
      writer: async () => testWriter(seededRandom(1), ++this.#processes),
      openDestination: async (settings) => {
        this.opened++;
        const destination = new MemoryDestination(this.store);
        this.onOpen(destination, settings);
        return destination;
      },
    };
  }

  /** Returns the names of all export manifests. */
  manifests(): readonly string[] {
    return [...this.store.objects.keys()].filter((name) => name.endsWith('/manifest.json'));
  }

  /** Returns all rows in the files listed in an export manifest. */
  rowsOf(manifest: string): readonly Readonly<Record<string, string>>[] {
    const folder = manifest.slice(0, -'manifest.json'.length);
    const { intervals } = JSON.parse(this.#content(manifest).toString()) as {
      readonly intervals: readonly Pick<CommitRecord, 'files'>[];
    };
    return intervals
      .flatMap(({ files }) => files)
      .flatMap(({ name }) => {
        const content = this.#content(`${folder}${name}`);
        const text = (name.endsWith('.gz') ? gunzipSync(content) : content).toString();
        return text.split('\n').slice(0, -1);
      })
      .map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
  }

  #content(name: string): Buffer {
    const content = this.store.objects.get(name);
    if (!content) throw new Error(`${name} is missing`);
    return Buffer.from(content);
  }
}

/**
 * Returns a writer with a made-up process identity. Reading the real identity takes real time, for which the virtual
 * clock does not wait.
 */
export function testWriter(random: Random = seededRandom(1), pid = 1): Writer {
  return new Writer({ pid, processStart: '1', scope: 'test' }, random);
}
