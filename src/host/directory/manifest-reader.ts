/**
 * Reads directories of manifests. The result contains each resource and each Secret once, the operator settings, the
 * requests of users, and the problems.
 *
 * Invariants:
 * - An unreadable file removes nothing: `mayExist` is then true for every object (D2).
 * - A file that lost only its end counts as truncated. A file that changed a moment ago counts as not completely
 *   written (D2).
 * - A resource with manifests in two files is refused in both (D5).
 * - An unusable manifest without an earlier valid version stops all policies from starting upgrades (D1).
 */

import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileError, type PlacedFinding } from '../../api/finding.ts';
import { maxManifestLength } from '../../api/manifest-file.ts';
import { decodeManifestText } from '../../api/manifest-text.ts';
import { pausedByConfigMap } from '../../api/operator-settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { ResourceKey } from '../host.ts';
import { isAbsent } from './durable-file.ts';
import {
  type DecodedFile,
  type DecodedResource,
  type DecodedSecret,
  decodeManifest,
  type PreviousOf,
  type RefusedDocument,
} from './manifest-decoding.ts';
import { type FileMemory, type FoundSettings, type Hold, identifySettings, type Place } from './manifest-places.ts';
import { type Request, readRequests, type SettingsRequest } from './requests.ts';
import { identify } from './resource-cache.ts';
import { StateDirectory } from './state-directory.ts';
import { isCut, printOf } from './text-print.ts';

/**
 * Time in ms that a manifest file must stay unchanged before it is read, because a slow process may still be writing
 * it.
 */
export const quietMs = 1_000;

/** A decoded object (resource, Secret or settings), with the manifest file that contains it. */
export interface Found<D> extends Place {
  readonly decoded: D;
}

export interface Reading {
  readonly resources: ReadonlyMap<string, Found<DecodedResource>>;
  readonly secrets: ReadonlyMap<string, Found<DecodedSecret>>;
  readonly settings: readonly FoundSettings[];
  readonly requests: ReadonlyMap<string, Request>;
  readonly problems: readonly PlacedFinding[];
  readonly holds: readonly Hold[];
  /** Folders with manifests, which must be watched for changes. */
  readonly folders: readonly string[];
  /** True if a manifest file changed so recently that all manifests must be read again soon. */
  readonly isUnfinished: boolean;
  /** Returns whether an object that an earlier reading found may still exist, although this reading did not find it. */
  mayExist(kind: string, key: ResourceKey): boolean;
  /** True if a file could not be read completely. It may contain any object, because objects can move between files. */
  isUnclear: boolean;
}

/** Objects that earlier readings of the manifests found. */
interface KnownBefore {
  readonly previousOf: PreviousOf;
  /**
   * File that last contained the resource, Secret or settings with this identity, or undefined if the identity is
   * unknown.
   */
  placeOf(id: string): Place | undefined;
}

interface ManifestReaderOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  /**
   * True for the operator. False for commands that only read: they take all manifest files as they are, and the state
   * folder may be missing.
   */
  readonly isOperator: boolean;
}

interface Gathering {
  readonly known: KnownBefore;
  readonly takesUnfinished: boolean;
  readonly found: Found<DecodedResource | DecodedSecret>[];
  readonly settings: FoundSettings[];
  readonly requests: Map<string, Request>;
  readonly problems: PlacedFinding[];
  readonly folders: string[];
  readonly refused: (RefusedDocument & Place)[];
  /** Files, folders and directories whose content could not be read completely. */
  readonly unclear: (Place & { readonly isWhole: boolean; readonly problem: PlacedFinding })[];
  isUnfinished: boolean;
}

/** A version of a manifest file, with the monotonic time at which that version was first seen. */
interface Sighting {
  readonly version: string;
  readonly sinceMs: number;
}

interface KnownFile {
  readonly bytes: Uint8Array;
  readonly file: DecodedFile;
}

export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  /** Last decoded content of each manifest file that still exists, by path. */
  #decoded = new Map<string, KnownFile>();
  /** Time at which each manifest file was first seen with its current content, by path. */
  #seen = new Map<string, Sighting>();
  readonly #memories = new Map<string, Map<string, FileMemory>>();
  readonly #changedMemories = new Set<string>();

  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /** Takes over the facts about manifest files of a directory that an earlier operator process stored. */
  remember(directory: string, files: ReadonlyMap<string, FileMemory>): void {
    this.#memories.set(directory, new Map(files));
  }

  /**
   * Directories whose facts about manifest files have changed since the last call. Each directory comes with the facts
   * of all its files.
   */
  takeChangedMemories(): readonly (readonly [string, ReadonlyMap<string, FileMemory>])[] {
    const changed = [...this.#changedMemories].map((directory) => [directory, this.#memoryOf(directory)] as const);
    this.#changedMemories.clear();
    return changed;
  }

  /**
   * Reads all manifest directories. Never fails: unreadable files become problems. With `takesUnfinished`, a file that
   * keeps changing counts as unreadable.
   */
  async read(known: KnownBefore, takesUnfinished: boolean): Promise<Reading> {
    const gathered: Gathering = {
      ...{ known, takesUnfinished, isUnfinished: false, requests: new Map() },
      ...{ found: [], settings: [], problems: [], folders: [], refused: [], unclear: [] },
    };
    const [before, seenBefore] = [this.#decoded, this.#seen];
    this.#decoded = new Map();
    this.#seen = new Map();
    for (const directory of this.#options.directories) {
      const scan = await this.#scan(directory, gathered);
      gathered.folders.push(...(scan?.folders ?? []), new StateDirectory(directory).requestFolder);
      for (const file of scan?.files ?? []) {
        const path = join(directory, file.path);
        const isQuiet = this.#isQuiet(path, file.content, seenBefore.get(path));
        const decoded = this.#decode(directory, file, isQuiet, before.get(path), gathered);
        if (decoded) gather(gathered, directory, file.path, decoded);
      }
      if (scan) this.#dropMemories(directory, scan.files, known);
      await gatherRequests(gathered, directory);
    }
    return this.#conclude(gathered);
  }

  #conclude(gathered: Gathering): Reading {
    refuseDoubles(gathered);
    const refused = new Set(gathered.refused.map(idOf));
    const isUnclear = gathered.unclear.length > 0;
    const { settings, requests, problems, folders, isUnfinished } = gathered;
    const resources = new Map<string, Found<DecodedResource>>();
    const secrets = new Map<string, Found<DecodedSecret>>();
    for (const { decoded, ...place } of gathered.found) {
      const id = idOf(decoded);
      if (refused.has(id)) continue;
      if (decoded.kind === 'Secret') secrets.set(id, { decoded, ...place });
      else resources.set(id, { decoded, ...place });
    }
    const found = new Set([...resources.keys(), ...secrets.keys(), ...settings.map(identifySettings)]);
    return {
      ...{ resources, secrets, settings, requests, problems, folders, isUnfinished, isUnclear },
      holds: this.#holdsOf(gathered, found),
      mayExist: (kind, key) => isUnclear || refused.has(identify(kind, key)),
    };
  }

  #holdsOf({ refused, unclear, known }: Gathering, found: ReadonlySet<string>): readonly Hold[] {
    const unknown = refused.filter((each) => known.placeOf(idOf(each)) === undefined);
    const ofDocuments = unknown.flatMap(({ directory, manifest, problem }): readonly Hold[] =>
      problem ? [{ directory, manifest, problem, mayPause: false }] : [],
    );
    const ofFiles = unclear.filter((place) => {
      const files = [...this.#memoryOf(place.directory)].filter(([manifest]) =>
        isAtOrBelow({ directory: place.directory, manifest }, place),
      );
      const missing = files.flatMap(([, memory]) => [...memory.ids, ...memory.refused]).filter((id) => !found.has(id));
      const isNew = files.length === 0 || (!place.isWhole && missing.length === 0);
      return isNew || missing.some((id) => known.placeOf(id) === undefined);
    });
    return [
      ...ofDocuments,
      ...ofFiles.map(({ directory, manifest, problem }) => ({ directory, manifest, problem, mayPause: true })),
    ];
  }

  async #scan(directory: string, gathered: Gathering) {
    try {
      // An unmounted volume leaves an empty folder without logfleet's state. Its manifests therefore do not count as
      // deleted.
      if (this.#options.isOperator) await stat(new StateDirectory(directory).folder);
      return await scanManifests(directory);
    } catch (error) {
      const problem = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
      gather(gathered, directory, '', unreadable(directory, problem, 'mount it or make it readable'));
      return undefined;
    }
  }

  #decode(
    directory: string,
    { path, content }: ScannedFile,
    isQuiet: boolean,
    before: KnownFile | undefined,
    gathered: Gathering,
  ): DecodedFile | undefined {
    const file = join(directory, path);
    if ('failure' in content) {
      if (before) this.#decoded.set(file, before);
      return unreadable(file, `cannot be read (${content.failure})`, 'make it readable, or delete it');
    }
    if (before && (!isQuiet || Buffer.compare(before.bytes, content.bytes) === 0)) {
      gathered.isUnfinished ||= !isQuiet;
      this.#decoded.set(file, before);
      return before.file;
    }
    if (!isQuiet) {
      gathered.isUnfinished = true;
      if (!gathered.takesUnfinished) return undefined;
      return unreadable(file, 'keeps changing while it is read', 'wait until it is written');
    }
    const decoded = this.#decodeText(directory, path, content.bytes, gathered.known.previousOf);
    this.#decoded.set(file, { bytes: content.bytes, file: decoded });
    return decoded;
  }

  #decodeText(directory: string, path: string, bytes: Uint8Array, previousOf: PreviousOf): DecodedFile {
    const file = join(directory, path);
    const read = decodeManifestText(bytes);
    if ('problem' in read) return decodeManifest(file, bytes, previousOf);
    const memory = this.#memoryOf(directory).get(path);
    if (memory && memory.ids.length > 0 && isCut(read.text, memory.print)) return cutOff(file, read.text);
    const decoded = decodeManifest(file, read.text, previousOf);
    if (decoded.unclear === undefined) {
      this.#memoryOf(directory).set(path, { ...idsIn(decoded, directory, path), print: printOf(read.text) });
      this.#changedMemories.add(directory);
    }
    return decoded;
  }

  /**
   * Returns whether a manifest file has stayed unchanged for `quietMs`. The test uses the file's modification time. If
   * the clocks of file system and process differ, it uses the time since this process first saw the content.
   */
  #isQuiet(file: string, content: ScannedFile['content'], before: Sighting | undefined): boolean {
    const { clock, isOperator } = this.#options;
    if (!isOperator || 'failure' in content) return true;
    const version = `${content.changedAtMs} ${content.bytes.length}`;
    const nowMs = clock.monotonic();
    const sinceMs = before?.version === version ? before.sinceMs : nowMs;
    this.#seen.set(file, { version, sinceMs });
    return Math.max(clock.now() - content.changedAtMs, nowMs - sinceMs) >= quietMs;
  }

  /** Drops the stored facts about a removed manifest file when none of the file's objects is known any more. */
  #dropMemories(directory: string, files: readonly ScannedFile[], known: KnownBefore): void {
    const present = new Set(files.map(({ path }) => path));
    for (const [manifest, { ids }] of this.#memoryOf(directory)) {
      const stoodThere = (id: string) => {
        const place = known.placeOf(id);
        return place?.directory === directory && place.manifest === manifest;
      };
      if (present.has(manifest) || ids.some(stoodThere)) continue;
      this.#memoryOf(directory).delete(manifest);
      this.#changedMemories.add(directory);
    }
  }

  #memoryOf(directory: string): Map<string, FileMemory> {
    const known = this.#memories.get(directory);
    if (known) return known;
    const created = new Map<string, FileMemory>();
    this.#memories.set(directory, created);
    return created;
  }
}

function isAtOrBelow(place: Place, outer: Place): boolean {
  const path = join(place.directory, place.manifest);
  const outerPath = join(outer.directory, outer.manifest);
  return path === outerPath || path.startsWith(join(outerPath, '/'));
}

function idsIn(file: DecodedFile, directory: string, manifest: string): Pick<FileMemory, 'ids' | 'refused'> {
  const all = [
    ...[...file.resources, ...file.secrets].map(idOf),
    ...(file.settings.length > 0 ? [identifySettings({ directory, manifest })] : []),
  ];
  const doubled = all.filter((id, index) => all.indexOf(id) !== index);
  const refused = [...file.refused.map(idOf), ...doubled];
  return { ids: all.filter((id) => !refused.includes(id)), refused };
}

function gather(gathered: Gathering, directory: string, manifest: string, decoded: DecodedFile): void {
  const place = { directory, manifest };
  gathered.problems.push(...decoded.problems);
  const problem = decoded.problems.find(({ severity }) => severity === 'error');
  if (decoded.unclear !== undefined && problem) {
    gathered.unclear.push({ ...place, problem, isWhole: decoded.unclear === 'whole' });
  }
  for (const refused of decoded.refused) gathered.refused.push({ ...refused, ...place });
  for (const each of [...decoded.resources, ...decoded.secrets]) gathered.found.push({ decoded: each, ...place });
  for (const { paused } of decoded.settings) {
    const pausedBy = pausedByConfigMap(paused, join(directory, manifest));
    gathered.settings.push({ ...place, pausedBy, source: 'manifest' });
  }
}

/** Refuses every object that has manifests in two places, whether the manifests are valid or not. */
function refuseDoubles({ found, refused, problems }: Gathering): void {
  const refusedBefore = new Map(refused.map((each) => [idOf(each), each]));
  for (const [id, [first, ...others]] of Map.groupBy(found, ({ decoded }) => idOf(decoded))) {
    const bad = refusedBefore.get(id);
    if (!first || (others.length === 0 && !bad)) continue;
    const other =
      others.length > 0 || !bad
        ? `${join(first.directory, first.manifest)}:${first.decoded.position.line}`
        : join(bad.directory, bad.manifest);
    for (const { decoded, directory, manifest } of others.length > 0 ? others : [first]) {
      const what = `${id.replace('/', ' ')} is also in ${other}, so neither of the two is used`;
      const file = join(directory, manifest);
      const problem = { ...fileError(file, 'Duplicate', what, 'rename or delete one of them'), ...decoded.position };
      problems.push(problem);
      refused.push({ kind: decoded.kind, key: decoded.key, directory, manifest, problem });
    }
  }
}

function idOf({ kind, key }: Pick<RefusedDocument, 'kind' | 'key'>): string {
  return identify(kind, key);
}

async function gatherRequests(gathered: Gathering, directory: string): Promise<void> {
  const { requests, settings, unreadable: bad } = await readRequests(directory);
  for (const request of requests) gathered.requests.set(identify(request.kind, request), request);
  if (settings) gathered.settings.push(foundRequest(directory, settings));
  for (const file of bad) {
    const remedy = 'delete it, and run the command again: logfleet pause or logfleet resume';
    gathered.problems.push(fileError(file, 'Unreadable', 'is not a valid request', remedy));
  }
}

function foundRequest(directory: string, { paused, writer }: SettingsRequest): FoundSettings {
  const author = `${writer.by ?? 'a person'} (logfleet pause --all)`;
  const manifest = relative(directory, new StateDirectory(directory).settingsRequestFile);
  return { directory, manifest, pausedBy: paused ? author : undefined, source: 'request' };
}

function unreadable(file: string, problem: string, remedy: string, line = 1): DecodedFile {
  const problems = [{ ...fileError(file, 'Unreadable', problem, remedy), line }];
  return { resources: [], secrets: [], settings: [], refused: [], problems, unclear: 'whole' };
}

function cutOff(file: string, text: string): DecodedFile {
  const problem = 'the file ends here and lacks its former end, so it is probably truncated';
  const remedy = 'write the whole file, or confirm the new end with a comment as the last line, such as # end';
  return unreadable(file, problem, remedy, text.split('\n').length);
}

/** A manifest file, or a folder that cannot be listed. */
interface ScannedFile {
  /** Path of the file, relative to its manifest directory. */
  readonly path: string;
  readonly content: FileContent | { readonly failure: string };
}

interface FileContent {
  readonly bytes: Uint8Array;
  /** Time in ms at which the file was last changed, by the clock of the file system. */
  readonly changedAtMs: number;
}

interface Scan {
  readonly files: readonly ScannedFile[];
  /** Paths of the manifest directory and its subfolders, which must be watched for changes. */
  readonly folders: readonly string[];
}

/** Upper limit in bytes for a manifest of the allowed length, in UTF-8 or UTF-16. */
const maxManifestBytes = 4 * maxManifestLength;
const manifestForm = /\.(?:ya?ml|json)$/i;

/**
 * Reads all manifest files of a directory and its subfolders: `*.yaml`, `*.yml` and `*.json`, ordered by path. Fails if the directory itself
 * cannot be listed.
 *
 * Names that begin with a dot are skipped: `.logfleet`, `.git`, and the folders behind a mounted ConfigMap. Symbolic links to folders are
 * skipped because they can form cycles. Links to files are followed.
 */
async function scanManifests(directory: string): Promise<Scan> {
  const folders: string[] = [];
  const paths: string[] = [];
  const unlisted: ScannedFile[] = [];
  const waiting = [directory];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await listEntries(folder, folder === directory);
    if (!Array.isArray(entries)) {
      unlisted.push(unread(relative(directory, folder), entries.error));
      continue;
    }
    folders.push(folder);
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (manifestForm.test(entry.name)) paths.push(path);
    }
  }
  const files = await Promise.all(paths.sort().map((path) => readManifest(path, relative(directory, path))));
  return { files: [...files.filter((file) => file !== undefined), ...unlisted], folders };
}

/**
 * Lists the entries of a folder. A subfolder that disappears during the scan counts as empty. A missing root directory
 * is an error.
 */
async function listEntries(folder: string, isRoot: boolean) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isRoot) throw error;
    return isAbsent(error) ? [] : { error };
  }
}

async function readManifest(absolutePath: string, path: string): Promise<ScannedFile | undefined> {
  try {
    const stats = await stat(absolutePath);
    if (!stats.isFile()) return { path, content: { failure: 'it is not a regular file' } };
    const { size, mtimeMs } = stats;
    if (size > maxManifestBytes) return { path, content: { failure: `it has more than ${maxManifestBytes} bytes` } };
    return { path, content: { bytes: await readFile(absolutePath), changedAtMs: mtimeMs } };
  } catch (error) {
    // A file that is listed but cannot be opened is usually a link to a missing file. Its manifest does not count as
    // deleted.
    const isGone = isAbsent(error) && !(await isListed(absolutePath));
    return isGone ? undefined : unread(path, error);
  }
}

async function isListed(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

function unread(path: string, error: unknown): ScannedFile {
  return { path, content: { failure: error instanceof Error ? error.message : String(error) } };
}
