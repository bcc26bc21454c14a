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
import { type AnyResource, type KindName, kinds } from '../../api/kinds.ts';
import { isRecord } from '../../base/record.ts';
import { copyDurably, listFolder, readIfPresent, removeDurably, writeDurably } from './durable-file.ts';
import type { FileMemory } from './manifest-places.ts';
import { isResourceName, StateDirectory } from './state-directory.ts';

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
export interface RecordStore {
  /** Loads all records of a directory. Files without a valid record are reported and left alone. */
  load(
    directory: string,
  ): Promise<{ readonly records: readonly ResourceRecord[]; readonly problems: readonly PlacedFinding[] }>;
  /** Saves the record of a new identity, and removes the ledgers of former resources with the same name. */
  create(record: ResourceRecord): Promise<void>;
  save(record: ResourceRecord): Promise<void>;
  /** Moves a record, its ledgers and requests to the state of another directory. Resolves to the moved record. */
  move(record: ResourceRecord, directory: string): Promise<ResourceRecord>;
  /** Removes a record, its ledgers and its requests. */
  remove(record: ResourceRecord): Promise<void>;
  /** Removes the request of a resource. */
  removeRequest(record: ResourceRecord): Promise<void>;
  /** Loads the stored facts about the manifest files of a directory. Empty if none are stored. */
  loadFiles(directory: string): Promise<ReadonlyMap<string, FileMemory>>;
  saveFiles(directory: string, files: ReadonlyMap<string, FileMemory>): Promise<void>;
}

export const recordFiles: RecordStore = {
  async load(directory) {
    const state = new StateDirectory(directory);
    const records: ResourceRecord[] = [];
    const problems: PlacedFinding[] = [];
    for (const kind of Object.keys(kinds) as KindName[]) {
      for (const { path, namespace, name } of await listStatusFiles(state, kind)) {
        const text = await readIfPresent(path);
        if (text === undefined) continue;
        const record = decodeRecord(directory, text);
        const { metadata } = record?.resource ?? {};
        if (record && metadata?.namespace === namespace && metadata.name === name) records.push(record);
        else problems.push(unreadable(path));
      }
    }
    return { records, problems };
  },

  async create(record) {
    const { directory, resource } = record;
    await removeDurably(new StateDirectory(directory).ledgersFolder(resource.kind, resource.metadata));
    await recordFiles.save(record);
  },

  async save({ directory, manifest, parkedSince, resource }) {
    const path = new StateDirectory(directory).statusFile(resource.kind, resource.metadata);
    await writeDurably(path, `${JSON.stringify({ manifest, parkedSince, resource }, undefined, 2)}\n`);
  },

  async move(record, directory) {
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

  async remove({ directory, resource: { kind, metadata } }) {
    const state = new StateDirectory(directory);
    await removeDurably(state.requestFile(kind, metadata));
    await removeDurably(state.ledgersFolder(kind, metadata));
    // Removed last: a process that dies before this step finds the record again and removes the rest.
    await removeDurably(state.statusFile(kind, metadata));
  },

  async removeRequest({ directory, resource: { kind, metadata } }) {
    await removeDurably(new StateDirectory(directory).requestFile(kind, metadata));
  },

  async loadFiles(directory) {
    const text = await readIfPresent(new StateDirectory(directory).memoryFile);
    return decodeFiles(text);
  },

  async saveFiles(directory, files) {
    await writeDurably(new StateDirectory(directory).memoryFile, `${JSON.stringify(Object.fromEntries(files))}\n`);
  },
};

/** If the facts cannot be decoded, the files count as never read. */
function decodeFiles(text: string | undefined): ReadonlyMap<string, FileMemory> {
  const value = parseJson(text);
  if (!isRecord(value)) return new Map();
  return new Map(Object.entries(value).filter((entry): entry is [string, FileMemory] => isFileMemory(entry[1])));
}

function isFileMemory(value: unknown): value is FileMemory {
  if (!isRecord(value) || !isTexts(value.ids) || !isTexts(value.refused) || !isRecord(value.print)) return false;
  const { lines, lastLine, ended, significant } = value.print;
  return isTexts(lines) && isTexts(lastLine) && typeof ended === 'boolean' && typeof significant === 'number';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Parses JSON. Undefined if the text is not JSON. */
function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

function decodeRecord(directory: string, text: string): ResourceRecord | undefined {
  const value = parseJson(text);
  if (!isRecord(value) || typeof value.manifest !== 'string' || !isRecord(value.resource)) return undefined;
  const { kind, metadata, spec } = value.resource;
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind) || !isRecord(metadata) || !isRecord(spec))
    return undefined;
  const { uid, generation, resourceVersion, creationTimestamp, namespace, name } = metadata;
  if (typeof namespace !== 'string' || !isResourceName(namespace)) return undefined;
  if (typeof name !== 'string' || !isResourceName(name)) return undefined;
  if (typeof uid !== 'string' || typeof creationTimestamp !== 'string' || typeof generation !== 'number')
    return undefined;
  if (typeof resourceVersion !== 'string' || !/^\d{1,15}$/.test(resourceVersion)) return undefined;
  const record = { directory, manifest: value.manifest, resource: value.resource as unknown as AnyResource };
  const { parkedSince } = value;
  return typeof parkedSince === 'string' && !Number.isNaN(Date.parse(parkedSince))
    ? { ...record, parkedSince }
    : record;
}

function unreadable(file: string): PlacedFinding {
  const problem = 'this file is not a valid record, so the resource gets a new identity and status';
  return { ...fileError(file, 'Unreadable', problem, 'restore the file before the next start'), severity: 'warning' };
}

/** Number of days for which the state of a resource without a manifest is kept. */
export const retentionDays = 30;
const dayMs = 24 * 3_600_000;

/** A resource was parked, or continued with a manifest again. */
export interface Notice {
  readonly kind: 'parked' | 'continued';
  /** The record in its parked form. */
  readonly record: ResourceRecord;
}

/** Wall time at which a parked record is discarded. */
export function keptUntil({ parkedSince = '' }: ResourceRecord): number {
  return Date.parse(parkedSince) + retentionDays * dayMs;
}

/** Renders a notice with its consequence and remedy. `forget` is the command that discards the state. */
export function renderNotice({ kind, record }: Notice, forget: string): string {
  const { directory, manifest, parkedSince, resource } = record;
  const name = `${resource.kind} ${resource.metadata.namespace}/${resource.metadata.name}`;
  const file = join(directory, manifest);
  if (kind === 'continued')
    return `${name} has a manifest again and continues where it was; it was parked since ${parkedSince}`;
  const until = new Date(keptUntil(record)).toISOString().slice(0, 10);
  return (
    `${name} is no longer in ${file}: it counts as deleted, and starts nothing more. Its state is kept until ${until}: restore the ` +
    `manifest to continue, or discard the state: ${forget}`
  );
}
