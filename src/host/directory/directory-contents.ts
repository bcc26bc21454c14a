/**
 * What a directory of manifests holds, as resources with an identity: the manifests' specs and annotations, what people asked for,
 * and the status that was written here.
 *
 * Invariants:
 * - A resource is the same (uid) from the first sight of its manifest until the manifest is gone; its generation moves when its spec,
 *   defaults included, does; its resource version with every change.
 * - A change is on the disk before anybody hears of it.
 * - Bad input takes nothing away: a manifest that became invalid leaves its resource as it was, also over a restart.
 * - Reading and writing run one after the other.
 */
import { apiGroup, apiVersionName, type KindName, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError, LogfleetError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import type { OwnerRef, ResourceKey } from '../host.ts';
import { DirectorySettings } from './directory-settings.ts';
import type { DecodedResource, DecodedSecret } from './manifest-decoding.ts';
import { type Found, ManifestReader, type Reading } from './manifest-reader.ts';
import { isSameData } from './plain-data.ts';
import type { Problem } from './problem.ts';
import type { Request } from './requests.ts';
import { identify, ResourceCache } from './resource-cache.ts';
import type { AnyResource, RecordStore, ResourceRecord } from './resource-records.ts';
import { SerialTasks } from './serial-tasks.ts';
import { createUid } from './uid.ts';

/** A manifest that is gone for less was being replaced: editors and `git pull` delete a file and then write it again. */
export const deletionDelayMs = 1_000;

export interface DirectoryContentsOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly records: RecordStore;
}

export class DirectoryContents {
  readonly cache = new ResourceCache();
  readonly settings = new DirectorySettings();
  readonly #options: DirectoryContentsOptions;
  readonly #reader: ManifestReader;
  readonly #tasks = new SerialTasks();
  /** Resources whose manifest was not there when it was looked for last, and since when. */
  readonly #missingSinceMs = new Map<string, number>();
  readonly #problemListeners = new Set<() => void>();
  #secrets: ReadonlyMap<string, Found<DecodedSecret>> = new Map();
  #recordProblems: readonly Problem[] = [];
  #problems: readonly Problem[] = [];
  #folders: readonly string[] = [];
  #lookAgain: Timer | undefined;
  #closed = false;

  constructor(options: DirectoryContentsOptions) {
    this.#options = options;
    this.#reader = new ManifestReader(options.directories);
  }

  /** Takes up what was remembered and reads the manifests. Who has none any more is removed at once. */
  open(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#loadRecords();
      await this.#readManifests(0);
      this.cache.markSynced();
    });
  }

  /** Reads the manifests anew. */
  refresh(): Promise<void> {
    return this.#exclusively(() => this.#readManifests(deletionDelayMs));
  }

  /** Takes up what another process wrote, and reads the manifests anew: for those who only look. */
  reload(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#loadRecords();
      await this.#readManifests(0);
    });
  }

  /** What is wrong now; empty when nothing is. */
  problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Calls `listener` when the problems have changed. */
  onProblems(listener: () => void): () => void {
    this.#problemListeners.add(listener);
    return () => this.#problemListeners.delete(listener);
  }

  /** Folders whose changes are changes of the contents. */
  folders(): readonly string[] {
    return this.#folders;
  }

  secret(key: ResourceKey): ReadonlyMap<string, SecretText> | undefined {
    return this.#secrets.get(identify('Secret', key))?.decoded.members;
  }

  /** The directory of a resource that exists; undefined when there is none of this uid. */
  directoryOf(owner: OwnerRef): string | undefined {
    const record = this.cache.get(owner.kind, owner);
    return record?.resource.metadata.uid === owner.uid ? record.directory : undefined;
  }

  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    return this.#exclusively(() =>
      crossing('status.write', async () => {
        const record = this.#expect(kind, resource);
        if (isSameData(record.resource.status, resource.status)) return record.resource as ResourceOf<K>;
        const written = await this.#change(record, {
          ...record.resource,
          ...(resource.status && { status: resource.status }),
        });
        return written as ResourceOf<K>;
      }),
    );
  }

  /** Resolves once nothing is read or written any more, and nothing will be. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#lookAgain?.cancel();
    await this.#tasks.drained();
  }

  #exclusively<T>(task: () => Promise<T>): Promise<T> {
    return this.#tasks.run('contents', task);
  }

  async #loadRecords(): Promise<void> {
    const problems: Problem[] = [];
    for (const directory of this.#options.directories) {
      const loaded = await this.#options.records.load(directory);
      problems.push(...loaded.problems);
      for (const record of loaded.records) {
        const known = this.cache.get(record.resource.kind, record.resource.metadata);
        if (!isSameData(known, record)) this.cache.put(record);
      }
    }
    this.#recordProblems = problems;
  }

  async #readManifests(deletionAfterMs: number): Promise<void> {
    if (this.#closed) return;
    const reading = await this.#reader.read(
      (kind, key) => this.cache.get(kind, key)?.resource,
      (id) => this.#placeOf(id),
    );
    this.#folders = reading.folders;
    this.#adoptSecrets(reading);
    this.#adoptSettings(reading, deletionAfterMs);
    const failures: Problem[] = [];
    for (const [id, found] of reading.resources) {
      this.#missingSinceMs.delete(id);
      await collectFailure(failures, found, () => this.#adopt(found, reading));
    }
    for (const record of this.cache.all()) {
      if (reading.resources.has(identifyRecord(record))) continue;
      await collectFailure(failures, record, () => this.#adoptAbsent(record, reading, deletionAfterMs));
    }
    this.#report([...this.#recordProblems, ...reading.problems, ...failures]);
  }

  async #adopt(found: Found<DecodedResource>, reading: Reading): Promise<void> {
    const { decoded, directory, manifest } = found;
    const { kind, key, spec } = decoded;
    const asked = withRequest(decoded.annotations, reading.requests.get(identify(kind, key)));
    const record = this.cache.get(kind, key);
    if (record && record.directory !== directory) await this.#options.records.remove(record);
    if (!record || record.directory !== directory) {
      const created: ResourceRecord = { directory, manifest, resource: this.#create(decoded, asked) };
      await this.#options.records.create(created);
      this.cache.put(created);
      return;
    }
    const { resource } = record;
    const isNewSpec = !isSameData(resource.spec, spec);
    const metadata = annotated(resource.metadata, asked);
    if (!isNewSpec && isSameData(resource.metadata, metadata)) {
      if (record.manifest !== manifest) await this.#options.records.save({ ...record, manifest });
      return;
    }
    const generation = metadata.generation + (isNewSpec ? 1 : 0);
    const changed = { ...resource, metadata: { ...metadata, generation }, spec } as AnyResource;
    await this.#change({ ...record, manifest }, changed);
  }

  /** A resource whose manifest is not among the good ones: kept when it may still be there, else on its way out. */
  async #adoptAbsent(record: ResourceRecord, reading: Reading, deletionAfterMs: number): Promise<void> {
    const { resource } = record;
    const id = identifyRecord(record);
    if (reading.isKept(resource.kind, resource.metadata, record)) {
      this.#missingSinceMs.delete(id);
      const asked = withRequest(resource.metadata.annotations, reading.requests.get(id));
      const metadata = annotated(resource.metadata, asked);
      if (!isSameData(metadata, resource.metadata)) await this.#change(record, { ...resource, metadata });
      return;
    }
    const nowMs = this.#options.clock.monotonic();
    const sinceMs = this.#missingSinceMs.get(id) ?? nowMs;
    this.#missingSinceMs.set(id, sinceMs);
    if (nowMs - sinceMs < deletionAfterMs) {
      this.#lookAgainAfter(deletionAfterMs);
      return;
    }
    await this.#options.records.remove(record);
    this.#missingSinceMs.delete(id);
    this.cache.remove(record);
  }

  #create({ kind, key, spec }: DecodedResource, asked: Asked): AnyResource {
    const { clock, random } = this.#options;
    return {
      apiVersion: `${apiGroup}/${apiVersionName}`,
      kind,
      metadata: {
        ...key,
        uid: createUid(random),
        generation: 1,
        resourceVersion: '1',
        creationTimestamp: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
        ...asked,
      },
      spec,
    } as AnyResource;
  }

  async #change(record: ResourceRecord, resource: AnyResource): Promise<AnyResource> {
    const resourceVersion = String(Number(record.resource.metadata.resourceVersion) + 1);
    const changed = { ...record, resource: { ...resource, metadata: { ...resource.metadata, resourceVersion } } };
    await this.#options.records.save(changed);
    this.cache.put(changed);
    return changed.resource;
  }

  #expect(kind: KindName, { metadata }: AnyResource): ResourceRecord {
    const record = this.cache.get(kind, metadata);
    const name = `${kind} ${metadata.namespace}/${metadata.name}`;
    if (record?.resource.metadata.uid !== metadata.uid) {
      throw new LogfleetError({ code: 'host.gone', handling: { kind: 'wait' }, message: `${name} no longer exists` });
    }
    if (record.resource.metadata.resourceVersion !== metadata.resourceVersion) {
      const message = `${name} is no longer what was read`;
      throw new LogfleetError({ code: 'host.conflict', handling: { kind: 'backoff' }, message });
    }
    return record;
  }

  /** Good Secrets as they are now; of those that became unreadable the last good ones. */
  #adoptSecrets(reading: Reading): void {
    const kept = [...this.#secrets].filter(([, found]) => reading.isKept('Secret', found.decoded.key, found));
    this.#secrets = new Map([...kept, ...reading.secrets]);
  }

  #adoptSettings(reading: Reading, deletionAfterMs: number): void {
    const isMissing = this.settings.adopt(reading, this.#options.clock.monotonic(), deletionAfterMs);
    if (isMissing) this.#lookAgainAfter(deletionAfterMs);
  }

  #lookAgainAfter(delayMs: number): void {
    this.#lookAgain?.cancel();
    this.#lookAgain = this.#options.clock.after(delayMs, () => void this.refresh());
  }

  #placeOf(id: string): ResourceRecord | Found<DecodedSecret> | undefined {
    return this.#secrets.get(id) ?? this.cache.byIdentity(id);
  }

  #report(problems: readonly Problem[]): void {
    if (isSameData(problems, this.#problems)) return;
    this.#problems = problems;
    for (const listener of this.#problemListeners) listener();
  }
}

function identifyRecord({ resource: { kind, metadata } }: ResourceRecord): string {
  return identify(kind, metadata);
}

/** Of the metadata, what a person can ask. */
type Asked = Pick<ObjectMeta, 'annotations' | 'annotationWriters'>;

function withRequest(written: ObjectMeta['annotations'], request: Request | undefined): Asked {
  const entries = Object.entries({ ...written, ...request?.annotations });
  const annotations = Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
  const annotationWriters = request?.writers ?? {};
  return Object.keys(annotationWriters).length === 0 ? { annotations } : { annotations, annotationWriters };
}

function annotated({ annotationWriters: _, ...metadata }: ObjectMeta, asked: Asked): ObjectMeta {
  return { ...metadata, ...asked };
}

/** What one resource's files do not take is a problem of that resource; the others go on, and the next reading tries again. */
async function collectFailure(
  failures: Problem[],
  { directory, manifest }: { readonly directory: string; readonly manifest: string },
  task: () => Promise<void>,
): Promise<void> {
  try {
    await task();
  } catch (error) {
    const { message } = asLogfleetError(error);
    failures.push({ severity: 'error', file: `${directory}/${manifest}`, line: 1, column: 1, message });
  }
}
