/**
 * Stores one record for each resource in a directory: its identity, last valid spec and status. A record contains the
 * path of the manifest, and the resource in the form that `kubectl get -o json` prints:
 * `{"manifest":"policies/web.yaml","resource":{"apiVersion":…,"kind":…,"metadata":…,"spec":…,"status":…}}`. If the
 * manifest has been deleted, the record also has `"retainedSince":"…Z"` (D4).
 */
import { basename, join } from 'node:path';
import { fileError, type PlacedFinding } from '../../api/finding.ts';
import { jsonReader, objectOf, resourceName, textShape } from '../../api/json-shape.ts';
import { type AnyResource, type KindName, kindNames } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { isoText } from '../../base/time-text.ts';
import { dayMs } from '../../base/time-units.ts';
import { copyDurably, listFolder, readIfPresent, removeDurably, requireState, writeDurably } from './durable-file.ts';
import { StateDirectory } from './state-directory.ts';
import { removeUserRequests, requestFilesOf } from './user-requests.ts';

export interface ResourceRecord {
  readonly resource: AnyResource;
  /** Path of the manifest directory that contains the resource, as the user wrote it. */
  readonly directory: string;
  /** Path, relative to the directory, of the manifest file that last contained the resource. */
  readonly manifest: string;
  /** ISO time at which logfleet noticed that the manifest was deleted; absent while the manifest exists. */
  readonly retainedSince?: string;
}

/** Functions that load, save, copy and remove resource records. */
export type RecordStore = typeof recordFiles;

export const recordFiles = {
  /**
   * Loads all resource records of a directory. Reports each invalid file as a problem, and does not change the file.
   */
  async load(
    directory: string,
  ): Promise<{ readonly records: readonly ResourceRecord[]; readonly problems: readonly PlacedFinding[] }> {
    const state = new StateDirectory(directory);
    const records: ResourceRecord[] = [];
    const problems: PlacedFinding[] = [];
    for (const kind of kindNames) {
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

  /** Saves the record of a new resource. Removes ledgers left by a deleted resource with the same name. */
  async create(record: ResourceRecord): Promise<void> {
    const { directory, resource } = record;
    await removeDurably(new StateDirectory(directory).ledgersFolder(resource.kind, resource.metadata));
    await recordFiles.save(record);
  },

  async save({ directory, manifest, retainedSince, resource }: ResourceRecord): Promise<void> {
    const path = new StateDirectory(directory).statusFile(resource.kind, resource.metadata);
    await writeDurably(path, `${JSON.stringify({ manifest, retainedSince, resource }, undefined, 2)}\n`);
  },

  /** Copies the record, ledgers and requests of a resource to another manifest directory. Resolves to the new record. */
  async copy(record: ResourceRecord, directory: string): Promise<ResourceRecord> {
    const { resource } = record;
    const { kind, metadata } = resource;
    const [from, to] = [new StateDirectory(record.directory), new StateDirectory(directory)];
    await requireState(from);
    await copyDurably(from.ledgersFolder(kind, metadata), to.ledgersFolder(kind, metadata));
    for (const file of await requestFilesOf(from, kind, metadata)) {
      await copyDurably(join(from.requestFolder, file), join(to.requestFolder, file));
    }
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    const copy = { ...record, directory, resource: { ...resource, metadata: { ...metadata, resourceVersion } } };
    await recordFiles.save(copy);
    return copy;
  },

  /** Removes a resource's record, ledgers and requests. */
  async remove({ directory, resource: { kind, metadata } }: ResourceRecord): Promise<void> {
    const state = new StateDirectory(directory);
    await requireState(state);
    await removeUserRequests(state, kind, metadata);
    await removeDurably(state.ledgersFolder(kind, metadata));
    // The record is removed last. If the process crashes before that, the next start finds the record and finishes the
    // removal.
    await removeDurably(state.statusFile(kind, metadata));
  },

  async removeRequest({ directory, resource: { kind, metadata } }: ResourceRecord): Promise<void> {
    await removeUserRequests(new StateDirectory(directory), kind, metadata);
  },
};

const writeNothing = async (): Promise<void> => {};

/**
 * Reads resource records, but writes nothing. For use by commands that must not change a directory, such as `logfleet
 * get`.
 */
export const readOnlyRecords: RecordStore = {
  ...recordFiles,
  create: writeNothing,
  save: writeNothing,
  copy: async (record, directory) => ({ ...record, directory }),
  remove: writeNothing,
  removeRequest: writeNothing,
};

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
      manifest: textShape,
      retainedSince: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' },
      resource: objectOf({
        kind: { enum: kindNames },
        metadata: objectOf({
          ...{ namespace: resourceName, name: resourceName, uid: textShape, creationTimestamp: textShape },
          ...{ generation: { type: 'number' }, resourceVersion: { type: 'string', pattern: '^\\d{1,15}$' } },
        }),
        spec: { type: 'object' },
      }),
    },
    ['retainedSince'],
  ),
);

function unreadable(file: string): PlacedFinding {
  const problem = 'this resource state file is not valid, so the resource gets a new uid and an empty status';
  return { ...fileError(file, 'Unreadable', problem, 'restore the file before the next start'), severity: 'warning' };
}

/** Number of days for which a resource's state is kept after its manifest has been deleted. */
export const retentionDays = 30;

/**
 * User-facing notice that a resource's manifest has been deleted or has reappeared. logfleet keeps the state of a
 * resource whose manifest was deleted, and continues with this state when the manifest reappears (D4).
 */
export interface Notice {
  readonly kind: 'retained' | 'continued';
  /** Record with the retained state of the resource. */
  readonly record: ResourceRecord;
}

/** Returns the wall-clock time in ms at which the state of a resource without a manifest is discarded. */
export function retainedUntil({ retainedSince = '' }: ResourceRecord): number {
  return Date.parse(retainedSince) + retentionDays * dayMs;
}

/**
 * Renders a notice as user-facing text.
 * @param forget command that discards the retained state
 */
export function renderNotice({ kind, record }: Notice, forget: string): string {
  const { directory, manifest, retainedSince, resource } = record;
  const name = `${resource.kind} ${keyText(resource.metadata)}`;
  const file = join(directory, manifest);
  if (kind === 'continued')
    return `${name} has a manifest again and continues with the state that logfleet has kept since ${retainedSince}`;
  const until = isoText(retainedUntil(record)).slice(0, 10);
  return (
    `${name} is no longer in ${file}, so it counts as deleted, and logfleet starts no more work for it. ` +
    `logfleet keeps the state of the resource until ${until}. To continue, restore the manifest. To discard the state: ${forget}`
  );
}
