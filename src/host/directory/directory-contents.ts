/**
 * What directories of manifests contain, as resources with an identity: the manifests' specs and annotations, what people asked for,
 * and the status that was written here.
 *
 * Invariants:
 * - A resource keeps its identity (uid) from the first sight of its manifest, also while the manifest is deleted, until its parked state
 *   is discarded (protocol D4). Its generation moves when its spec, defaults included, does; its resource version with every change.
 * - A change is on the disk before anybody hears of it.
 * - Bad input takes nothing away: a manifest that became invalid leaves its resource as it was, also over a restart (D1, D2).
 * - Reading and writing run one after the other.
 */
import { apiGroup, apiVersionName, type KindName, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { validateResource } from '../../api/validation.ts';
import { crossing } from '../../base/boundary.ts';
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { asLogfleetError, LogfleetError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import type { OwnerRef, ResourceKey } from '../host.ts';
import { Absences } from './absences.ts';
import { DirectorySettings } from './directory-settings.ts';
import type { DecodedResource, DecodedSecret } from './manifest-decoding.ts';
import { type Found, ManifestReader, quietMs, type Reading } from './manifest-reader.ts';
import { keptUntil, type Notice } from './parking.ts';
import { isSameData } from './plain-data.ts';
import type { Problem } from './problem.ts';
import type { Request } from './requests.ts';
import { identify, ResourceCache } from './resource-cache.ts';
import type { AnyResource, RecordStore, ResourceRecord } from './resource-records.ts';
import { SerialTasks } from './serial-tasks.ts';
import { createUid } from './uid.ts';

/** A manifest that is gone for less was being replaced: editors and `git pull` delete a file and then write it again (D3). */
export const deletionDelayMs = 5_000;
/** A start waits no longer than this for files that keep changing. */
const longestWritingMs = 10_000;

export interface DirectoryContentsOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly records: RecordStore;
  /** False for those who only look: they take everything as it is, and wait for nothing. */
  readonly isOperator: boolean;
}

export class DirectoryContents {
  readonly cache = new ResourceCache();
  readonly settings = new DirectorySettings();
  readonly #options: DirectoryContentsOptions;
  readonly #reader: ManifestReader;
  readonly #tasks = new SerialTasks();
  /** Resources and Secrets whose manifest was not there when it was looked for last. */
  readonly #absences = new Absences();
  /** Records of resources whose manifest was deleted, by identity. */
  readonly #parked = new Map<string, ResourceRecord>();
  readonly #problemListeners = new Set<() => void>();
  readonly #noticeListeners = new Set<(notice: Notice) => void>();
  #secrets: ReadonlyMap<string, Found<DecodedSecret>> = new Map();
  #recordProblems: readonly Problem[] = [];
  #problems: readonly Problem[] = [];
  #folders: readonly string[] = [];
  #lookAgain: { readonly atMs: number; readonly timer: Timer } | undefined;
  #closed = false;

  constructor(options: DirectoryContentsOptions) {
    this.#options = options;
    this.#reader = new ManifestReader(options);
  }

  /**
   * Takes up what was remembered and reads the manifests. Waits until no file changes any more, and until it is certain which
   * manifests were deleted.
   */
  open(): Promise<void> {
    return this.#exclusively(async () => {
      const { clock, isOperator } = this.#options;
      await this.#loadRecords();
      const endMs = clock.monotonic() + longestWritingMs;
      while (isOperator && (await this.#read(false)).isUnfinished && clock.monotonic() < endMs)
        await sleep(clock, quietMs);
      await this.#readManifests(isOperator);
      while (isOperator && this.#absences.any()) {
        await sleep(clock, deletionDelayMs);
        await this.#readManifests(true);
      }
      this.cache.markSynced();
    });
  }

  /** Reads the manifests anew. */
  refresh(): Promise<void> {
    return this.#exclusively(() => this.#readManifests(false));
  }

  /** Takes up what another process wrote, and reads the manifests anew: for those who only look. */
  reload(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#loadRecords();
      await this.#readManifests(false);
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

  /** Calls `listener` when a resource was parked, or goes on after it was. */
  onNotice(listener: (notice: Notice) => void): () => void {
    this.#noticeListeners.add(listener);
    return () => this.#noticeListeners.delete(listener);
  }

  /** Resources whose manifest was deleted and whose state is still there. */
  parked(): readonly ResourceRecord[] {
    return [...this.#parked.values()];
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
    this.#lookAgain?.timer.cancel();
    await this.#tasks.drained();
  }

  #exclusively<T>(task: () => Promise<T>): Promise<T> {
    return this.#tasks.run('contents', task);
  }

  async #loadRecords(): Promise<void> {
    const { directories, records } = this.#options;
    const problems: Problem[] = [];
    this.#parked.clear();
    for (const directory of directories) {
      const loaded = await records.load(directory);
      problems.push(...loaded.problems);
      for (const record of loaded.records) await this.#takeUp(record);
      this.#reader.remember(directory, await records.loadFiles(directory));
    }
    this.#recordProblems = problems;
  }

  /** Two records of one identity are left behind by a move that was broken off: the newer one counts. */
  async #takeUp(record: ResourceRecord): Promise<void> {
    const id = identifyRecord(record);
    const known = this.cache.byIdentity(id) ?? this.#parked.get(id);
    if (known && known.directory !== record.directory && versionOf(known) > versionOf(record)) {
      if (known.resource.metadata.uid === record.resource.metadata.uid) await this.#options.records.remove(record);
      return;
    }
    if (record.parkedSince !== undefined) this.#parked.set(id, record);
    else if (!isSameData(this.cache.byIdentity(id), record)) this.cache.put(record);
  }

  #read(takesUnfinished: boolean): Promise<Reading> {
    return this.#reader.read(
      {
        previousOf: (kind, key) => this.cache.get(kind, key)?.resource,
        placeOf: (id) => this.#secrets.get(id) ?? this.cache.byIdentity(id) ?? this.settings.placeOf(id),
      },
      takesUnfinished,
    );
  }

  async #readManifests(takesUnfinished: boolean): Promise<void> {
    if (this.#closed) return;
    const reading = await this.#read(takesUnfinished);
    this.#folders = reading.folders;
    if (reading.isUnfinished) this.#lookAgainAfter(quietMs);
    // Before any resource, so that nobody starts what is held.
    this.#adoptSettings(reading);
    this.#adoptSecrets(reading);
    const failures: Problem[] = [];
    for (const found of reading.resources.values()) {
      await collectFailure(failures, found, () => this.#adopt(found, reading));
    }
    for (const record of this.cache.all()) {
      if (reading.resources.has(identifyRecord(record))) continue;
      await collectFailure(failures, record, () => this.#adoptAbsent(record, reading));
    }
    for (const record of this.#parked.values()) {
      await collectFailure(failures, record, () => this.#discardIfDue(record, reading));
    }
    for (const [directory, files] of this.#reader.takeChangedMemories()) {
      await collectFailure(failures, { directory, manifest: '' }, () =>
        this.#options.records.saveFiles(directory, files),
      );
    }
    this.#report([...this.#recordProblems, ...reading.problems, ...failures]);
  }

  async #adopt(found: Found<DecodedResource>, reading: Reading): Promise<void> {
    const { decoded, directory, manifest } = found;
    const { kind, key } = decoded;
    const id = identify(kind, key);
    this.#absences.end(id);
    const request = reading.requests.get(id);
    const asked = withRequest(decoded.annotations, request);
    const known = this.cache.get(kind, key) ?? (await this.#revivable(id, decoded, request));
    if (!known) {
      const created: ResourceRecord = { directory, manifest, resource: this.#create(decoded, asked) };
      await this.#options.records.create(created);
      this.cache.put(created);
      return;
    }
    // There is a manifest: the request was about an earlier deletion.
    if (request?.forget) await this.#options.records.removeRequest(known);
    const here = known.directory === directory ? known : await this.#options.records.move(known, directory);
    await this.#update({ ...here, manifest }, known, found, asked);
    if (known.parkedSince === undefined) return;
    this.#parked.delete(id);
    this.#tell({ kind: 'continued', record: known });
  }

  /** Takes up what a manifest says now of a resource that is known, or was parked. */
  async #update(
    record: ResourceRecord,
    before: ResourceRecord,
    { decoded: { spec } }: Found<DecodedResource>,
    asked: Asked,
  ): Promise<void> {
    const { parkedSince, ...live } = record;
    const { resource } = live;
    const isNewSpec = !isSameData(resource.spec, spec);
    const metadata = annotated(resource.metadata, asked);
    if (!isNewSpec && parkedSince === undefined && isSameData(resource.metadata, metadata)) {
      if (isSameData(live, before)) return;
      await this.#options.records.save(live);
      this.cache.put(live);
      return;
    }
    const generation = metadata.generation + (isNewSpec ? 1 : 0);
    await this.#change(live, { ...resource, metadata: { ...metadata, generation }, spec } as AnyResource);
  }

  /** The parked record that a manifest continues; what is parked and cannot be continued is discarded. */
  async #revivable(
    id: string,
    { kind, spec, annotations }: DecodedResource,
    request: Request | undefined,
  ): Promise<ResourceRecord | undefined> {
    const record = this.#parked.get(id);
    if (!record || record.resource.kind !== kind) return undefined;
    const { resource } = record;
    const wanted = { ...resource, metadata: { ...resource.metadata, annotations }, spec };
    // A SearchExport of another query is another export, as after `kubectl delete` and `kubectl create`.
    const isSame = validateResource(kind, wanted, resource).every(({ severity }) => severity !== 'error');
    if (isSame && request?.forget !== true) return record;
    await this.#discard(record);
    return undefined;
  }

  /** A resource whose manifest is not among the good ones: kept when it may still be there, else parked after a while. */
  async #adoptAbsent(record: ResourceRecord, reading: Reading): Promise<void> {
    const { resource } = record;
    const id = identifyRecord(record);
    if (reading.isKept(resource.kind, resource.metadata, record)) {
      this.#absences.end(id);
      const asked = withRequest(resource.metadata.annotations, reading.requests.get(id));
      const metadata = annotated(resource.metadata, asked);
      if (!isSameData(metadata, resource.metadata)) await this.#change(record, { ...resource, metadata });
      return;
    }
    if (!this.#isGone(id)) return;
    const parked: ResourceRecord = { ...record, parkedSince: new Date(this.#options.clock.now()).toISOString() };
    await this.#options.records.save(parked);
    this.#absences.end(id);
    this.#parked.set(id, parked);
    this.cache.remove(record);
    this.#tell({ kind: 'parked', record: parked });
  }

  /** Whether what is absent has been so for long enough to count as deleted. */
  #isGone(id: string): boolean {
    const { clock, isOperator } = this.#options;
    if (!isOperator || this.#absences.lastsMs(id, clock.monotonic()) >= deletionDelayMs) return true;
    this.#lookAgainAfter(deletionDelayMs);
    return false;
  }

  async #discardIfDue(record: ResourceRecord, { requests }: Reading): Promise<void> {
    const isAsked = requests.get(identifyRecord(record))?.forget === true;
    if (isAsked || this.#options.clock.now() >= keptUntil(record)) await this.#discard(record);
  }

  async #discard(record: ResourceRecord): Promise<void> {
    await this.#options.records.remove(record);
    this.#parked.delete(identifyRecord(record));
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

  /** Good Secrets as they are now; of those that are unreadable, or gone for a moment, the last good ones. */
  #adoptSecrets(reading: Reading): void {
    for (const id of reading.secrets.keys()) this.#absences.end(id);
    const kept = [...this.#secrets].filter(([id, found]) => {
      if (reading.secrets.has(id)) return false;
      if (!reading.isKept('Secret', found.decoded.key, found) && this.#isGone(id)) return false;
      return true;
    });
    for (const id of this.#secrets.keys()) if (!kept.some(([each]) => each === id)) this.#absences.end(id);
    this.#secrets = new Map([...kept, ...reading.secrets]);
  }

  #adoptSettings(reading: Reading): void {
    const { clock, isOperator } = this.#options;
    const isMissing = this.settings.adopt(reading, clock.monotonic(), isOperator ? deletionDelayMs : 0);
    if (isMissing) this.#lookAgainAfter(deletionDelayMs);
  }

  /** Reads the manifests again after this time, or earlier where that was asked for already. */
  #lookAgainAfter(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonic() + delayMs;
    if (this.#lookAgain && this.#lookAgain.atMs <= atMs) return;
    this.#lookAgain?.timer.cancel();
    const look = () => {
      this.#lookAgain = undefined;
      void this.refresh();
    };
    this.#lookAgain = { atMs, timer: clock.after(delayMs, look) };
  }

  #tell(notice: Notice): void {
    for (const listener of this.#noticeListeners) listener(notice);
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

function versionOf({ resource }: ResourceRecord): number {
  return Number(resource.metadata.resourceVersion);
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
