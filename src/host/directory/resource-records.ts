/**
 * Records: the identity (uid, generation, creation time), last valid spec and status of each resource, one file per resource. The form is
 * that of `kubectl get -o json`, with the path of the manifest:
 * `{"manifest":"policies/web.yaml","resource":{"apiVersion":…,"kind":…,"metadata":…,"spec":…,"status":…}}`. A parked record also has
 * `"parkedSince":"…Z"` and keeps its ledger and requests (D4).
 *
 * One more file stores what each manifest file contained: `{"web.yaml":{"ids":["Kind/namespace/name"],"print":{…}}}`.
 */
import { basename, join } from 'node:path';
import { fileError, type PlacedFinding } from '../../api/finding.ts';
import { jsonReader, objectOf, resourceName, text, texts } from '../../api/json-shape.ts';
import { type AnyResource, type KindName, kinds } from '../../api/kinds.ts';
import { copyDurably, listFolder, readIfPresent, removeDurably, writeDurably } from './durable-file.ts';
import type { FileMemory } from './manifest-places.ts';
import { StateDirectory } from './state-directory.ts';

export interface ResourceRecord {
  readonly resource: AnyResource;
  /** Directory of manifests, as it was given. */
  readonly directory: string;
  /** File that the resource was last read from, relative to the directory. */
  readonly manifest: string;
  /** ISO time at which the manifest counted as deleted. Absent while a manifest exists. */
  readonly parkedSince?: string;
}

/** Storage of records. */
export type RecordStore = typeof recordFiles;

export const recordFiles = {
  /** Loads all records of a directory. Files without a valid record are reported and left alone. */
  async load(
    directory: string,
  ): Promise<{ readonly records: readonly ResourceRecord[]; readonly problems: readonly PlacedFinding[] }> {
    const state = new StateDirectory(directory);
    const records: ResourceRecord[] = [];
    const problems: PlacedFinding[] = [];
    for (const kind of Object.keys(kinds) as KindName[]) {
      for (const { path, namespace, name } of await listStatusFiles(state, kind)) {
        const content = await readIfPresent(path);
        if (content === undefined) continue;
        const record = readRecord(content);
        const { metadata } = record?.resource ?? {};
        if (record && metadata?.namespace === namespace && metadata.name === name)
          records.push({ ...record, directory });
        else problems.push(unreadable(path));
      }
    }
    return { records, problems };
  },

  /** Saves the record of a new identity, and removes the ledgers of former resources with the same name. */
  async create(record: ResourceRecord): Promise<void> {
    const { directory, resource } = record;
    await removeDurably(new StateDirectory(directory).ledgersFolder(resource.kind, resource.metadata));
    await recordFiles.save(record);
  },

  async save({ directory, manifest, parkedSince, resource }: ResourceRecord): Promise<void> {
    const path = new StateDirectory(directory).statusFile(resource.kind, resource.metadata);
    await writeDurably(path, `${JSON.stringify({ manifest, parkedSince, resource }, undefined, 2)}\n`);
  },

  /** Moves a record, its ledgers and requests to the state of another directory. Resolves to the moved record. */
  async move(record: ResourceRecord, directory: string): Promise<ResourceRecord> {
    const { kind, metadata } = record.resource;
    const [from, to] = [new StateDirectory(record.directory), new StateDirectory(directory)];
    await copyDurably(from.ledgersFolder(kind, metadata), to.ledgersFolder(kind, metadata));
    await copyDurably(from.requestFile(kind, metadata), to.requestFile(kind, metadata));
    const moved = { ...record, directory };
    // A process that dies here leaves two records with one identity. The record beside the manifest counts.
    await recordFiles.save(moved);
    await recordFiles.remove(record);
    return moved;
  },

  /** Removes a record, its ledgers and its requests. */
  async remove({ directory, resource: { kind, metadata } }: ResourceRecord): Promise<void> {
    const state = new StateDirectory(directory);
    await removeDurably(state.requestFile(kind, metadata));
    await removeDurably(state.ledgersFolder(kind, metadata));
    // Removed last: a process that dies before this step finds the record again and removes the rest.
    await removeDurably(state.statusFile(kind, metadata));
  },

  async removeRequest({ directory, resource: { kind, metadata } }: ResourceRecord): Promise<void> {
    await removeDurably(new StateDirectory(directory).requestFile(kind, metadata));
  },

  /** Loads the stored facts about the manifest files of a directory. Empty if none are stored. */
  async loadFiles(directory: string): Promise<ReadonlyMap<string, FileMemory>> {
    return decodeFiles(await readIfPresent(new StateDirectory(directory).memoryFile));
  },

  async saveFiles(directory: string, files: ReadonlyMap<string, FileMemory>): Promise<void> {
    await writeDurably(new StateDirectory(directory).memoryFile, `${JSON.stringify(Object.fromEntries(files))}\n`);
  },
};

const writeNothing = async (): Promise<void> => {};

/** Records for a reader, which writes nothing. */
export const readOnlyRecords: RecordStore = {
  ...recordFiles,
  create: writeNothing,
  save: writeNothing,
  move: async (record, directory) => ({ ...record, directory }),
  remove: writeNothing,
  removeRequest: writeNothing,
  saveFiles: writeNothing,
};

const print = objectOf({ lines: texts, lastLength: { type: 'integer' }, significant: { type: 'integer' } });
const readFiles = jsonReader<Readonly<Record<string, FileMemory>>>({
  type: 'object',
  additionalProperties: objectOf({ ids: texts, refused: texts, print }),
  required: [],
});

/** If the facts have another shape, the files count as never read. */
function decodeFiles(content: string | undefined): ReadonlyMap<string, FileMemory> {
  return new Map(Object.entries(readFiles(content) ?? {}));
}

async function listStatusFiles(state: StateDirectory, kind: KindName) {
  const files: { readonly path: string; readonly namespace: string; readonly name: string }[] = [];
  for (const namespace of await listFolder(state.statusFolder(kind))) {
    const folder = join(state.statusFolder(kind), namespace);
    for (const file of await listFolder(folder)) {
      if (file.endsWith('.json')) files.push({ path: join(folder, file), namespace, name: basename(file, '.json') });
    }
  }
  return files;
}

const readRecord = jsonReader<Omit<ResourceRecord, 'directory'>>(
  objectOf(
    {
      manifest: text,
      parkedSince: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' },
      resource: objectOf({
        kind: { enum: Object.keys(kinds) },
        metadata: objectOf({
          ...{ namespace: resourceName, name: resourceName, uid: text, creationTimestamp: text },
          ...{ generation: { type: 'number' }, resourceVersion: { type: 'string', pattern: '^\\d{1,15}$' } },
        }),
        spec: { type: 'object' },
      }),
    },
    ['parkedSince'],
  ),
);

function unreadable(file: string): PlacedFinding {
  const problem = 'this file is not a valid record, so the resource gets a new identity and status';
  return { ...fileError(file, 'Unreadable', problem, 'restore the file before the next start'), severity: 'warning' };
}

/** Number of days for which the state of a resource without a manifest is kept. */
export const retentionDays = 30;
const dayMs = 24 * 3_600_000;

/**
 * A resource was parked, or continued with a manifest again. A parked resource has no manifest. Its identity, status, ledger and requests
 * remain for `retentionDays`, and a manifest with the same name continues it (D4).
 */
export interface Notice {
  readonly kind: 'parked' | 'continued';
  /** The record in its parked form. */
  readonly record: ResourceRecord;
}

/** Wall time at which a parked record is discarded. */
export function retainedUntil({ parkedSince = '' }: ResourceRecord): number {
  return Date.parse(parkedSince) + retentionDays * dayMs;
}

/** Renders a notice with its consequence and remedy. `forget` is the command that discards the state. */
export function renderNotice({ kind, record }: Notice, forget: string): string {
  const { directory, manifest, parkedSince, resource } = record;
  const name = `${resource.kind} ${resource.metadata.namespace}/${resource.metadata.name}`;
  const file = join(directory, manifest);
  if (kind === 'continued')
    return `${name} has a manifest again and continues where it was; it was parked since ${parkedSince}`;
  const until = new Date(retainedUntil(record)).toISOString().slice(0, 10);
  return (
    `${name} is no longer in ${file}: it counts as deleted, and starts nothing more. Its state is kept until ${until}: restore the ` +
    `manifest to continue, or discard the state: ${forget}`
  );
}
