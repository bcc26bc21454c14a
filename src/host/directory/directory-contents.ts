/**
 * Manages the resources of one or more manifest directories.
 *
 * Invariants:
 * - A resource gets its uid when its manifest is first read, and keeps it until its state is discarded (D4).
 * - The generation increases with each change to the spec, and the resource version with each change to the resource.
 * - Each change is written to disk before listeners are called.
 * - When a manifest becomes invalid, its resource does not change (D1, D2).
 * - A resource that the operator created has no manifest. It is deleted together with its owner.
 */
import { fileError, type PlacedFinding } from '../../api/finding.ts';
import { type AnyResource, apiVersion, type KindName, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { applyDefaults } from '../../api/schemas.ts';
import { validateResource } from '../../api/validation.ts';
import { crossing } from '../../base/boundary.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { asLogfleetError, failure } from '../../base/errors.ts';
import { identify, keyText } from '../../base/key-text.ts';
import type { Ports } from '../../base/ports.ts';
import { createUid } from '../../base/random.ts';
import type { SecretText } from '../../base/secret-text.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import type { Creation, NewResource, OperatorSettings, OwnerRef, ResourceKey, ResourceSource } from '../host.ts';
import { DirectorySettings, type FoundSettings, identifySettings } from './directory-settings.ts';
import { requireState } from './durable-file.ts';
import { LedgerFiles } from './ledger-files.ts';
import type { DecodedResource, DecodedSecret } from './manifest-decoding.ts';
import { type ManifestObject, ManifestReader, type ManifestReading, quietMs } from './manifest-reader.ts';
import { RecordCache } from './record-cache.ts';
import {
  type Notice,
  type RecordStore,
  type ResourceRecord,
  readOnlyRecords,
  recordFiles,
  retainedUntil,
} from './resource-records.ts';
import { SerialQueue } from './serial-queue.ts';
import { StateDirectory } from './state-directory.ts';
import type { UserRequest } from './user-requests.ts';

/**
 * Time in ms after which a resource whose manifest is missing counts as deleted (D3). The delay is needed because
 * editors and `git pull` delete a file before they write it again.
 */
export const deletionDelayMs = 5_000;
/**
 * Maximum time in ms for which a starting operator waits for manifest files that are still being written (D2). This
 * time is longer than `lossDelayMs`, so that a file from which a user has just removed text is accepted within the
 * wait.
 */
const longestWritingMs = 15_000;

export interface DirectoryContentsOptions extends Pick<Ports, 'clock' | 'random'> {
  readonly directories: readonly string[];
  /**
   * True for the operator, which waits until files are completely written. Commands such as `logfleet get` do not wait.
   */
  readonly isOperator: boolean;
  /** Aborts `open`. */
  readonly signal?: AbortSignal | undefined;
}

export class DirectoryContents {
  protected readonly clock: Clock;
  /** Queue for reads and writes of ledgers. Each ledger has its own key: the uid of the resource that owns it. */
  protected readonly ledgerQueue = new SerialQueue();
  /** Ledgers on disk. A running operator can change them at any time. Only the operator may write them. */
  readonly ledgers: LedgerFiles;
  readonly cache = new RecordCache();
  readonly #settings = new DirectorySettings();
  readonly #options: DirectoryContentsOptions;
  readonly #records: RecordStore;
  readonly #reader: ManifestReader;
  readonly #queue = new SerialQueue();
  /**
   * For each object, by identity, the monotonic time in ms at which this process noticed that the object's manifest is
   * missing.
   */
  readonly #missingSinceMs = new Map<string, number>();
  /** Records of resources whose manifest was deleted and whose state is retained, by resource identity. */
  readonly #retained = new Map<string, ResourceRecord>();
  #secrets: ReadonlyMap<string, ManifestObject<DecodedSecret>> = new Map();
  #recordProblems: readonly PlacedFinding[] = [];
  #problems: readonly PlacedFinding[] = [];
  #folders: readonly string[] = [];
  #nextReading: { readonly atMs: number; readonly timer: Timer } | undefined;
  #closed = false;

  constructor(options: DirectoryContentsOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.ledgers = new LedgerFiles((owner) => this.#stateOf(owner), this.ledgerQueue, options.isOperator);
    this.#records = options.isOperator ? recordFiles : readOnlyRecords;
    this.#reader = new ManifestReader(options);
  }

  /**
   * Loads all stored resources and reads the manifests. An operator waits until the files stop changing, and until each
   * missing manifest has reappeared or counts as deleted.
   */
  open(): Promise<void> {
    return this.#exclusively(async () => {
      const { clock, isOperator, signal } = this.#options;
      await this.#loadRecords();
      const endMs = clock.monotonic() + longestWritingMs;
      while (isOperator && (await this.#read(false)).isUnfinished && clock.monotonic() < endMs)
        await sleep(clock, quietMs, signal);
      await this.#readManifests(isOperator);
      while (isOperator && this.#missingSinceMs.size > 0) {
        await sleep(clock, deletionDelayMs, signal);
        await this.#readManifests(true);
      }
      this.cache.markSynced();
    });
  }

  /**
   * Reads all manifest files again. Commands also reload the resource records, because an operator may have changed
   * them.
   */
  refresh(): Promise<void> {
    return this.#exclusively(async () => {
      if (!this.#options.isOperator) await this.#loadRecords();
      await this.#readManifests(false);
    });
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return this.cache.source(kind);
  }

  /** Returns the current problems with manifest files and stored resource records. */
  problems(): readonly PlacedFinding[] {
    return this.#problems;
  }

  /** Called after each read of all manifests. `hasNewProblems` is true if the list of problems has changed. */
  protected onReading(_hasNewProblems: boolean): void {}

  /** Called when a resource's manifest has been deleted or has reappeared. */
  protected onNotice(_: Notice): void {}

  /** Returns the records of resources whose manifest was deleted and whose state is retained. */
  retained(): readonly ResourceRecord[] {
    return [...this.#retained.values()];
  }

  settings(): OperatorSettings {
    return this.#settings.current();
  }

  subscribeSettings(listener: () => void): () => void {
    return this.#settings.subscribe(listener);
  }

  pausing(): readonly FoundSettings[] {
    return this.#settings.pausing();
  }

  /** Returns the folders to watch for changes to resources or Secrets. */
  folders(): readonly string[] {
    return this.#folders;
  }

  secret(key: ResourceKey): ReadonlyMap<string, SecretText> | undefined {
    return this.#secrets.get(identify('Secret', key))?.decoded.members;
  }

  /** Returns the manifest directory of the resource with this uid, if the resource exists. */
  directoryOf(owner: OwnerRef): string | undefined {
    const record = this.cache.get(owner.kind, owner);
    return record?.resource.metadata.uid === owner.uid ? record.directory : undefined;
  }

  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    return this.#exclusively(() =>
      crossing('status.write', async () => {
        const record = this.#expect(kind, resource);
        if (sameValue(record.resource.status, resource.status)) return record.resource as ResourceOf<K>;
        const written = await this.#change(record, {
          ...record.resource,
          ...(resource.status && { status: resource.status }),
        });
        return written as ResourceOf<K>;
      }),
    );
  }

  create<K extends KindName>({ kind, metadata, spec, owner }: NewResource<K>): Promise<Creation> {
    return this.#exclusively(async () => {
      const existing = this.cache.get(kind, metadata)?.resource;
      if (existing) return existing.metadata.owner?.uid === owner.uid ? 'exists' : 'taken';
      const ownerRecord = this.#ownerOf({ ...metadata, owner });
      if (!ownerRecord) throw failure('wait', 'host.gone', `${owner.kind} ${keyText(owner)} no longer exists`);
      const { namespace, name, annotations } = metadata;
      const { directory, manifest } = ownerRecord;
      const decoded = {
        kind,
        key: { namespace, name },
        spec: applyDefaults(kind, { spec }).spec as DecodedResource['spec'],
      };
      const { kind: ownerKind, name: ownerName, uid } = owner;
      const resource = this.#create(decoded, { annotations, owner: { kind: ownerKind, name: ownerName, uid } });
      const record: ResourceRecord = { directory, manifest, resource };
      await crossing('resource.create', async () => {
        await requireState(new StateDirectory(directory));
        await this.#records.create(record);
      });
      this.#retained.delete(identifyRecord(record));
      this.cache.put(record);
      return 'created';
    });
  }

  canRemove({ metadata }: AnyResource): boolean {
    return metadata.owner !== undefined;
  }

  remove(resource: AnyResource): Promise<void> {
    return this.#exclusively(async () => {
      const { kind, metadata } = resource;
      if (this.cache.get(kind, metadata)?.resource.metadata.uid !== metadata.uid) return;
      await crossing('resource.remove', () => this.#removeOwned(this.#expect(kind, resource)));
    });
  }

  /** Stops reading manifests. Resolves when all reads and writes in progress have finished. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#nextReading?.timer.cancel();
    await this.#queue.drained();
  }

  /** Returns the folder (`.logfleet`) that contains a resource's state, or undefined if no resource has this uid. */
  #stateOf(owner: OwnerRef): StateDirectory | undefined {
    const directory = this.directoryOf(owner);
    return directory === undefined ? undefined : new StateDirectory(directory);
  }

  #exclusively<T>(act: () => Promise<T>): Promise<T> {
    return this.#queue.run('contents', act);
  }

  async #loadRecords(): Promise<void> {
    const { directories } = this.#options;
    const problems: PlacedFinding[] = [];
    const stored = new Set<string>();
    this.#retained.clear();
    for (const directory of directories) {
      const loaded = await this.#records.load(directory);
      problems.push(...loaded.problems);
      for (const record of loaded.records) {
        stored.add(identifyRecord(record));
        await this.#addRecord(record);
      }
    }
    // If the record of a resource that an operator created no longer exists, the resource has been deleted.
    for (const record of this.cache.all()) {
      if (isOwned(record) && !stored.has(identifyRecord(record))) this.cache.remove(record);
    }
    this.#recordProblems = problems;
  }

  /**
   * Adds a resource record that was loaded from disk. If an interrupted move has left records of the same resource in
   * two directories, uses the newer record and removes the older one.
   */
  async #addRecord(record: ResourceRecord): Promise<void> {
    const id = identifyRecord(record);
    const known = this.cache.byIdentity(id) ?? this.#retained.get(id);
    if (known && known.directory !== record.directory && versionOf(known) !== versionOf(record)) {
      const older = versionOf(known) > versionOf(record) ? record : known;
      if (known.resource.metadata.uid === record.resource.metadata.uid) await this.#records.remove(older);
      if (older === record) return;
    }
    if (record.retainedSince !== undefined) this.#retained.set(id, record);
    else if (!sameValue(this.cache.byIdentity(id), record)) this.cache.put(record);
  }

  #read(takesUnfinished: boolean): Promise<ManifestReading> {
    return this.#reader.read(
      {
        previousOf: (kind, key) => this.cache.get(kind, key)?.resource,
        placeOf: (id) => this.#secrets.get(id) ?? this.cache.byIdentity(id) ?? this.#settings.placeOf(id),
      },
      takesUnfinished,
    );
  }

  async #readManifests(takesUnfinished: boolean): Promise<void> {
    if (this.#closed) return;
    const reading = await this.#read(takesUnfinished);
    this.#folders = reading.folders;
    if (reading.isUnfinished) this.#readAgainAfter(quietMs);
    for (const id of reading.ids) this.#missingSinceMs.delete(id);
    // Operator settings are applied before the resources. Otherwise, a paused operator could start work on a resource.
    this.#settings.adopt(reading, (known) => this.#isKept(identifySettings(known), reading));
    const secrets = [...this.#secrets].filter(([id]) => this.#isKept(id, reading));
    this.#secrets = new Map([...secrets, ...reading.secrets]);
    const failures: PlacedFinding[] = [];
    for (const found of reading.resources.values()) {
      await collectFailure(failures, found, () => this.#adopt(found, reading));
    }
    // Owners are processed first, so that the resources that the operator created for a deleted owner are deleted as
    // well.
    const all = [...this.cache.all()].sort((a, b) => Number(isOwned(a)) - Number(isOwned(b)));
    for (const record of all) {
      if (reading.resources.has(identifyRecord(record))) continue;
      await collectFailure(failures, record, () => this.#adoptAbsent(record, reading));
    }
    for (const record of this.#retained.values()) {
      await collectFailure(failures, record, () => this.#discardIfDue(record, reading));
    }
    this.#report([...this.#recordProblems, ...reading.problems, ...failures]);
  }

  async #adopt(found: ManifestObject<DecodedResource>, reading: ManifestReading): Promise<void> {
    const { decoded, directory, manifest } = found;
    const { kind, key } = decoded;
    const id = identify(kind, key);
    const request = reading.requests.get(id);
    const written = withRequest(decoded.annotations, request);
    const owned = this.cache.get(kind, key);
    // A user's manifest replaces a resource that the operator created.
    if (owned && isOwned(owned)) await this.#removeOwned(owned);
    const known = this.cache.get(kind, key) ?? (await this.#revivable(id, decoded, request));
    if (!known) {
      const created: ResourceRecord = { directory, manifest, resource: this.#create(decoded, written) };
      await this.#records.create(created);
      this.cache.put(created);
      return;
    }
    // The user has restored the manifest, so an earlier `logfleet forget` for this resource no longer applies.
    if (request?.forget) await this.#records.removeRequest(known);
    const here = known.directory === directory ? known : await this.#move(known, directory);
    await this.#update({ ...here, manifest }, known, found, written);
    if (known.retainedSince === undefined) return;
    this.#retained.delete(id);
    this.onNotice({ kind: 'continued', record: known });
  }

  /**
   * Moves the state of a resource to another manifest directory. Writes to the resource's ledger wait until the move
   * has finished, because a write to the old directory would be lost.
   */
  #move(record: ResourceRecord, directory: string): Promise<ResourceRecord> {
    return this.ledgerQueue.run(record.resource.metadata.uid, async () => {
      const moved = await this.#records.copy(record, directory);
      if (moved.retainedSince === undefined) this.cache.put(moved);
      else this.#retained.set(identifyRecord(moved), moved);
      // If the process crashes here, both directories contain a record of the resource. The next start removes the
      // record with the lower resource version.
      await this.#records.remove(record);
      return moved;
    });
  }

  async #update(
    record: ResourceRecord,
    before: ResourceRecord,
    { decoded: { spec } }: ManifestObject<DecodedResource>,
    written: UserMetadata,
  ): Promise<void> {
    const { retainedSince, ...live } = record;
    const { resource } = live;
    const isNewSpec = !sameValue(resource.spec, spec);
    const metadata = annotated(resource.metadata, written);
    if (!isNewSpec && retainedSince === undefined && sameValue(resource.metadata, metadata)) {
      if (sameValue(live, before)) return;
      await this.#records.save(live);
      this.cache.put(live);
      return;
    }
    const generation = metadata.generation + (isNewSpec ? 1 : 0);
    await this.#change(live, { ...resource, metadata: { ...metadata, generation }, spec } as AnyResource);
  }

  /**
   * Returns the retained record of a resource whose manifest has reappeared. Discards the record if the manifest now
   * has a different value in an immutable field, or if a user has run `logfleet forget`.
   */
  async #revivable(
    id: string,
    { kind, spec, annotations }: DecodedResource,
    request: UserRequest | undefined,
  ): Promise<ResourceRecord | undefined> {
    const record = this.#retained.get(id);
    if (!record || record.resource.kind !== kind) return undefined;
    const { resource } = record;
    const wanted = { ...resource, metadata: { ...resource.metadata, annotations }, spec };
    // A manifest that changes an immutable field, such as the query of a SearchExport, describes a new resource, so the
    // retained state is discarded.
    const isSame = validateResource(kind, wanted, resource).every(({ severity }) => severity !== 'error');
    if (isSame && request?.forget !== true) return record;
    await this.#discard(record);
    return undefined;
  }

  /**
   * Updates a resource for which no manifest was found. If its manifest has been deleted, the resource is removed from
   * the cache, so that no controller acts on it. Its state stays on disk. A resource that the operator created is
   * deleted if its owner no longer exists, or if a user has run `logfleet forget`.
   */
  async #adoptAbsent(record: ResourceRecord, reading: ManifestReading): Promise<void> {
    const { resource } = record;
    const id = identifyRecord(record);
    const request = reading.requests.get(id);
    if (isOwned(record) && (request?.forget === true || !this.#ownerOf(resource.metadata))) {
      await this.#removeOwned(record);
      return;
    }
    if (isOwned(record) || reading.mayExist(id)) {
      const written = withRequest(resource.metadata.annotations, request);
      const metadata = annotated(resource.metadata, written);
      if (!sameValue(metadata, resource.metadata)) await this.#change(record, { ...resource, metadata });
    }
    if (isOwned(record) || this.#isKept(id, reading)) return;
    const retained: ResourceRecord = { ...record, retainedSince: isoText(this.#options.clock.now()) };
    await this.#records.save(retained);
    this.#retained.set(id, retained);
    this.cache.remove(record);
    this.onNotice({ kind: 'retained', record: retained });
  }

  /**
   * Reports whether an object must be kept although its manifest was not found. The object is kept as long as an
   * unreadable file may contain its manifest (D2). The operator also keeps the object for `deletionDelayMs` after its
   * manifest disappears (D3).
   */
  #isKept(id: string, reading: ManifestReading): boolean {
    if (reading.ids.has(id)) return false;
    const { clock, isOperator } = this.#options;
    const nowMs = clock.monotonic();
    const sinceMs = this.#missingSinceMs.get(id) ?? nowMs;
    this.#missingSinceMs.delete(id);
    if (reading.mayExist(id)) return true;
    if (!isOperator || nowMs - sinceMs >= deletionDelayMs) return false;
    this.#missingSinceMs.set(id, sinceMs);
    this.#readAgainAfter(deletionDelayMs);
    return true;
  }

  async #discardIfDue(record: ResourceRecord, { requests }: ManifestReading): Promise<void> {
    const isRequested = requests.get(identifyRecord(record))?.forget === true;
    if (isRequested || this.#options.clock.now() >= retainedUntil(record)) await this.#discard(record);
  }

  async #discard(record: ResourceRecord): Promise<void> {
    await this.#records.remove(record);
    this.#retained.delete(identifyRecord(record));
  }

  #ownerOf({ namespace, owner }: Pick<ObjectMeta, 'namespace' | 'owner'>): ResourceRecord | undefined {
    if (!owner) return undefined;
    const record = this.cache.get(owner.kind, { namespace, name: owner.name });
    return record?.resource.metadata.uid === owner.uid ? record : undefined;
  }

  async #removeOwned(record: ResourceRecord): Promise<void> {
    await this.#records.remove(record);
    this.cache.remove(record);
  }

  #create(
    { kind, key, spec }: Pick<DecodedResource, 'kind' | 'key' | 'spec'>,
    written: UserMetadata & Pick<ObjectMeta, 'owner'>,
  ): AnyResource {
    const { clock, random } = this.#options;
    return {
      apiVersion,
      kind,
      metadata: {
        ...key,
        uid: createUid(random),
        generation: 1,
        resourceVersion: '1',
        creationTimestamp: isoSeconds(clock.now()),
        ...written,
      },
      spec,
    } as AnyResource;
  }

  async #change(record: ResourceRecord, resource: AnyResource): Promise<AnyResource> {
    const resourceVersion = String(Number(record.resource.metadata.resourceVersion) + 1);
    const changed = { ...record, resource: { ...resource, metadata: { ...resource.metadata, resourceVersion } } };
    if (this.#options.isOperator) await requireState(new StateDirectory(record.directory));
    await this.#records.save(changed);
    this.cache.put(changed);
    return changed.resource;
  }

  #expect(kind: KindName, { metadata }: AnyResource): ResourceRecord {
    const record = this.cache.get(kind, metadata);
    const name = `${kind} ${keyText(metadata)}`;
    if (record?.resource.metadata.uid !== metadata.uid) {
      throw failure('wait', 'host.gone', `${name} no longer exists`);
    }
    if (record.resource.metadata.resourceVersion !== metadata.resourceVersion) {
      const message = `${name} has changed since it was read`;
      throw failure('backoff', 'host.conflict', message);
    }
    return record;
  }

  /** Schedules a reading of the manifests after `delayMs`, unless an earlier reading is already scheduled. */
  #readAgainAfter(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonic() + delayMs;
    if (this.#nextReading && this.#nextReading.atMs <= atMs) return;
    this.#nextReading?.timer.cancel();
    const readAgain = () => {
      this.#nextReading = undefined;
      void this.refresh();
    };
    this.#nextReading = { atMs, timer: clock.after(delayMs, readAgain) };
  }

  #report(problems: readonly PlacedFinding[]): void {
    const hasNewProblems = !sameValue(problems, this.#problems);
    this.#problems = problems;
    this.onReading(hasNewProblems);
  }
}

/** Reports whether the operator created the resource. Such a resource has no manifest. */
function isOwned({ resource }: ResourceRecord): boolean {
  return resource.metadata.owner !== undefined;
}

function identifyRecord({ resource: { kind, metadata } }: ResourceRecord): string {
  return identify(kind, metadata);
}

function versionOf({ resource }: ResourceRecord): number {
  return Number(resource.metadata.resourceVersion);
}

/** Resource metadata that a user can set in a manifest. */
type UserMetadata = Pick<ObjectMeta, 'annotations' | 'annotationWriters'>;

function withRequest(written: ObjectMeta['annotations'], request: UserRequest | undefined): UserMetadata {
  const entries = Object.entries({ ...written, ...request?.annotations });
  const annotations = Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
  const annotationWriters = request?.writers ?? {};
  return Object.keys(annotationWriters).length === 0 ? { annotations } : { annotations, annotationWriters };
}

function annotated({ annotationWriters: _, ...metadata }: ObjectMeta, written: UserMetadata): ObjectMeta {
  return { ...metadata, ...written };
}

/**
 * Runs `act` for one resource. If `act` fails, adds the error to `failures` instead of throwing it, so that the
 * remaining resources are also processed.
 */
async function collectFailure(
  failures: PlacedFinding[],
  { directory, manifest }: { readonly directory: string; readonly manifest: string },
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    failures.push(fileError(`${directory}/${manifest}`, 'Unreadable', asLogfleetError(error).message, ''));
  }
}
