/**
 * Reads manifest directories. Finds resources, Secrets, settings and user requests, and reports problems.
 *
 * Invariants:
 * - An unreadable file deletes no resource, because it may contain any manifest (D2).
 * - A file that is truncated or has just changed counts as unreadable (D2).
 * - If two files contain a manifest for the same resource, neither manifest is used (D5).
 * - A manifest that has never been valid stops all upgrades (D1).
 */

import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileError, type PlacedFinding } from '../../api/finding.ts';
import { decodeManifestText, maxManifestLength } from '../../api/manifest-file.ts';
import { pausedByConfigMap } from '../../api/operator-settings.ts';
import type { Clock } from '../../base/clock.ts';
import { asLogfleetError, isFileAbsent, messageOf } from '../../base/errors.ts';
import { identify } from '../../base/key-text.ts';
import { type FoundSettings, identifySettings, type Place, type UnusableManifest } from './directory-settings.ts';
import { isFolder, unavailableRemedy } from './durable-file.ts';
import {
  type FileMemories,
  type FileMemory,
  isCut,
  loadMemories,
  lossOf,
  outlinesIn,
  printOf,
  saveMemories,
} from './file-memory.ts';
import {
  type DecodedFile,
  type DecodedResource,
  type DecodedSecret,
  decodeManifest,
  type PreviousOf,
  type RefusedDocument,
} from './manifest-decoding.ts';
import { StateDirectory } from './state-directory.ts';
import { readUserRequests, type SettingsRequest, type UserRequest } from './user-requests.ts';

/**
 * Time in ms for which a manifest file must stay unchanged before it is read, because a slow process may still be
 * writing it.
 */
export const quietMs = 1_000;
/**
 * Time in ms for which a manifest file must stay unchanged before logfleet accepts that a field, item or line was
 * removed from it (D2). Until then, a slow process may still be writing the file.
 */
export const lossDelayMs = 10_000;

/** A decoded object and the manifest file that contains it. */
export interface ManifestObject<D> extends Place {
  readonly decoded: D;
}

export interface ManifestReading {
  readonly resources: ReadonlyMap<string, ManifestObject<DecodedResource>>;
  readonly secrets: ReadonlyMap<string, ManifestObject<DecodedSecret>>;
  readonly settings: readonly FoundSettings[];
  readonly requests: ReadonlyMap<string, UserRequest>;
  /** Identities of all resources, Secrets and settings in the manifests. */
  readonly ids: ReadonlySet<string>;
  readonly problems: readonly PlacedFinding[];
  readonly unusable: readonly UnusableManifest[];
  /** Folders to watch for changes. */
  readonly folders: readonly string[];
  /** True if all manifests must be read again soon, because a file may not have been written completely yet. */
  readonly isUnfinished: boolean;
  /**
   * Reports whether an object may still have a manifest, even though no valid one was found. This is the case if its
   * manifest is invalid, or if any file is unreadable.
   */
  mayExist(id: string): boolean;
}

/** Functions that look up objects found by earlier reads of the manifests. */
interface KnownBefore {
  readonly previousOf: PreviousOf;
  /** Returns the manifest file in which an object was last found, or undefined if no such file is known. */
  placeOf(id: string): Place | undefined;
}

interface ManifestReaderOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  /**
   * True for the operator, which uses a file only once the file has been completely written. Other commands read each
   * file immediately.
   */
  readonly isOperator: boolean;
}

interface Gathering {
  readonly known: KnownBefore;
  readonly takesUnfinished: boolean;
  readonly found: ManifestObject<DecodedResource | DecodedSecret>[];
  readonly settings: FoundSettings[];
  readonly requests: Map<string, UserRequest>;
  readonly problems: PlacedFinding[];
  readonly folders: string[];
  readonly refused: (RefusedDocument & Place)[];
  /** Files and folders that are completely or partly unreadable. */
  readonly unclear: (Place & { readonly isWhole: boolean; readonly problem: PlacedFinding })[];
  isUnfinished: boolean;
}

interface KnownFile {
  /** Modification time and length of the file. */
  readonly version: string;
  /** Monotonic time in ms at which this process first saw this `version` of the file. */
  readonly sinceMs: number;
  decoded: { readonly bytes: Uint8Array; readonly file: DecodedFile } | undefined;
}

export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  /** Manifest files that still exist, by path. */
  #files = new Map<string, KnownFile>();
  /** Stored data about the manifest files of each manifest directory. */
  readonly #memories = new Map<string, FileMemories>();
  /** Manifest directories whose stored data has changed and must be written to disk. */
  readonly #unsaved = new Set<string>();

  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads all manifests in all manifest directories. A file that is still being written counts as unreadable.
   * @param takesUnfinished false to ignore new files that are still being written; the caller then reads again later
   */
  async read(known: KnownBefore, takesUnfinished: boolean): Promise<ManifestReading> {
    const gathered: Gathering = {
      ...{ known, takesUnfinished, isUnfinished: false, requests: new Map() },
      ...{ found: [], settings: [], problems: [], folders: [], refused: [], unclear: [] },
    };
    const filesBefore = this.#files;
    this.#files = new Map();
    for (const directory of this.#options.directories) {
      const memories = await this.#load(directory);
      const scan = await this.#scan(directory, gathered);
      gathered.folders.push(...(scan?.folders ?? []), new StateDirectory(directory).requestFolder);
      for (const link of scan?.linkedFolders ?? []) {
        const remedy = 'move the manifests of that folder into this directory, or add that folder to the command line';
        const problem = fileError(
          link,
          'NoEffect',
          'is a link to a folder, and links to folders are not followed',
          remedy,
        );
        gathered.problems.push({ ...problem, severity: 'warning' });
      }
      for (const file of scan?.files ?? []) {
        const decoded = this.#decode(directory, file, filesBefore.get(join(directory, file.path)), gathered);
        if (decoded) gather(gathered, directory, file.path, decoded);
      }
      if (scan) this.#dropMemories(directory, memories, scan.files, known);
      await this.#save(directory, memories, gathered.problems);
      await gatherRequests(gathered, directory);
    }
    return this.#conclude(gathered);
  }

  /**
   * Loads the stored data about the manifest files in a directory. The operator loads the data only once. Other
   * commands load the data each time they read the manifests, because an operator may have changed it.
   */
  async #load(directory: string): Promise<FileMemories> {
    const known = this.#options.isOperator ? this.#memories.get(directory) : undefined;
    const memories = known ?? (await loadMemories(directory));
    this.#memories.set(directory, memories);
    return memories;
  }

  async #save(directory: string, memories: FileMemories, problems: PlacedFinding[]): Promise<void> {
    if (!this.#options.isOperator || !this.#unsaved.has(directory)) return;
    try {
      await saveMemories(directory, memories);
      this.#unsaved.delete(directory);
    } catch (error) {
      problems.push(fileError(directory, 'Unreadable', asLogfleetError(error).message, ''));
    }
  }

  #conclude(gathered: Gathering): ManifestReading {
    refuseDoubles(gathered);
    const refused = new Set(gathered.refused.map(idOf));
    const { settings, requests, problems, folders, isUnfinished } = gathered;
    const resources = new Map<string, ManifestObject<DecodedResource>>();
    const secrets = new Map<string, ManifestObject<DecodedSecret>>();
    for (const { decoded, ...place } of gathered.found) {
      const id = idOf(decoded);
      if (refused.has(id)) continue;
      if (decoded.kind === 'Secret') secrets.set(id, { decoded, ...place });
      else resources.set(id, { decoded, ...place });
    }
    const ids = new Set([...resources.keys(), ...secrets.keys(), ...settings.map(identifySettings)]);
    return {
      ...{ resources, secrets, settings, requests, ids, problems, folders, isUnfinished },
      unusable: this.#unusable(gathered, ids),
      mayExist: (id) => gathered.unclear.length > 0 || refused.has(id),
    };
  }

  /** Returns the invalid and unreadable manifests for which logfleet has never seen a valid version. */
  #unusable({ refused, unclear, known }: Gathering, found: ReadonlySet<string>): readonly UnusableManifest[] {
    const isUnknown = (id: string) => known.placeOf(id) === undefined;
    const ofDocuments = refused.flatMap(({ directory, manifest, problem, ...each }): readonly UnusableManifest[] =>
      problem && isUnknown(idOf(each)) ? [{ directory, manifest, problem, mayPause: false }] : [],
    );
    const ofFiles = unclear.filter(({ directory, manifest, isWhole }) => {
      const files = memoriesBelow(this.#memories.get(directory) ?? new Map(), manifest);
      const missing = files.flatMap(({ ids, refused }) => [...ids, ...refused]).filter((id) => !found.has(id));
      const isNew = files.length === 0 || (!isWhole && missing.length === 0);
      return isNew || missing.some(isUnknown);
    });
    return [
      ...ofDocuments,
      ...ofFiles.map(({ directory, manifest, problem }) => ({ directory, manifest, problem, mayPause: true })),
    ];
  }

  async #scan(directory: string, gathered: Gathering) {
    try {
      // If the lock file is missing, the volume is probably not mounted, so missing manifests must not count as
      // deleted. The state folder is no proof of a mounted volume, because other commands can create it.
      if (this.#options.isOperator) await stat(new StateDirectory(directory).lockFile);
      return await scanManifests(directory);
    } catch (error) {
      const problem = `cannot be read (${messageOf(error)})`;
      gather(gathered, directory, '', unreadable(directory, problem, unavailableRemedy));
      return undefined;
    }
  }

  #decode(
    directory: string,
    { path, content }: ScannedFile,
    before: KnownFile | undefined,
    gathered: Gathering,
  ): DecodedFile | undefined {
    const file = join(directory, path);
    if ('failure' in content) {
      if (before) this.#files.set(file, before);
      return unreadable(file, `cannot be read (${content.failure})`, 'make it readable, or delete it');
    }
    const nowMs = this.#options.clock.monotonic();
    const version = `${content.changedAtMs} ${content.bytes.length}`;
    const sinceMs = before?.version === version ? before.sinceMs : nowMs;
    const known: KnownFile = { version, sinceMs, decoded: before?.decoded };
    this.#files.set(file, known);
    const isQuiet = this.#isQuiet(content, nowMs - sinceMs);
    if (!isQuiet) gathered.isUnfinished = true;
    if (known.decoded && (!isQuiet || Buffer.compare(known.decoded.bytes, content.bytes) === 0)) {
      return known.decoded.file;
    }
    if (isQuiet) {
      const mayLose = !this.#options.isOperator || nowMs - sinceMs >= lossDelayMs;
      const { decoded, isUnfinished } = this.#decodeText(
        { directory, manifest: path },
        content.bytes,
        gathered,
        mayLose,
      );
      if (isUnfinished) gathered.isUnfinished = true;
      else known.decoded = { bytes: content.bytes, file: decoded };
      return decoded;
    }
    const isNew = this.#memories.get(directory)?.has(path) !== true;
    if (isNew && !gathered.takesUnfinished) return undefined;
    return unreadable(file, 'keeps changing while it is read', 'wait until it is written');
  }

  /**
   * Decodes the text of a manifest file. If `mayLose` is false, a file that has lost a field, item or line since
   * logfleet last used it counts as unfinished.
   */
  #decodeText(
    place: Place,
    bytes: Uint8Array,
    { known: { previousOf } }: Gathering,
    mayLose: boolean,
  ): { readonly decoded: DecodedFile; readonly isUnfinished?: boolean } {
    const { directory, manifest } = place;
    const file = join(directory, manifest);
    const read = decodeManifestText(bytes);
    if ('problem' in read) return { decoded: decodeManifest(file, bytes, previousOf) };
    const { text } = read;
    const memories = this.#memories.get(directory);
    const memory = memories?.get(manifest);
    if (memory && memory.ids.length > 0 && isCut(text, memory.print)) return { decoded: cutOff(file, text) };
    const decoded = decodeManifest(file, text, previousOf);
    const loss = memory && !mayLose && decoded.unclear !== 'whole' ? lossOf(text, decoded, memory) : undefined;
    if (loss !== undefined) return { decoded: incomplete(file, text, loss, decoded.problems), isUnfinished: true };
    if (decoded.unclear !== undefined) return { decoded };
    const outlines = outlinesIn(decoded, memory);
    memories?.set(manifest, { ...idsIn(decoded, place), print: printOf(text), outlines });
    this.#unsaved.add(directory);
    return { decoded };
  }

  /** Reports whether a file has stayed unchanged for `quietMs`. */
  #isQuiet({ changedAtMs }: ManifestContent, seenForMs: number): boolean {
    const { clock, isOperator } = this.#options;
    return !isOperator || Math.max(clock.now() - changedAtMs, seenForMs) >= quietMs;
  }

  /**
   * Drops the stored data about files that were removed. The data about a file is kept as long as one of its resources
   * still exists.
   */
  #dropMemories(directory: string, memories: FileMemories, files: readonly ScannedFile[], known: KnownBefore): void {
    const present = new Set(files.map(({ path }) => path));
    for (const [manifest, { ids }] of memories) {
      const isKnownThere = (id: string) => {
        const place = known.placeOf(id);
        return place?.directory === directory && place.manifest === manifest;
      };
      if (present.has(manifest) || ids.some(isKnownThere)) continue;
      memories.delete(manifest);
      this.#unsaved.add(directory);
    }
  }
}

/** Returns the stored data about a manifest file, or about all files in a folder. The path '' is the whole directory. */
function memoriesBelow(memories: FileMemories, path: string): readonly FileMemory[] {
  const file = memories.get(path);
  if (file) return [file];
  return [...memories].flatMap(([each, memory]) => (path === '' || each.startsWith(`${path}/`) ? [memory] : []));
}

function idsIn(file: DecodedFile, place: Place): Pick<FileMemory, 'ids' | 'refused'> {
  const settings = file.settings.length > 0 ? [identifySettings(place)] : [];
  const ids = [...file.resources.map(idOf), ...file.secrets.map(idOf), ...settings];
  const doubled = ids.filter((id, index) => ids.indexOf(id) !== index);
  const refused = [...file.refused.map(idOf), ...doubled];
  return { ids: ids.filter((id) => !refused.includes(id)), refused };
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

/** Refuses each resource or Secret for which there are two manifests (D5). */
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
      const what = `${id.replace('/', ' ')} is also in ${other}, so logfleet uses neither manifest`;
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
  const { requests, settings, unreadable: bad } = await readUserRequests(directory);
  for (const request of requests) gathered.requests.set(identify(request.kind, request), request);
  if (settings) gathered.settings.push(foundRequest(directory, settings));
  for (const file of bad) {
    const remedy = 'delete the file, then run logfleet pause or logfleet resume again';
    gathered.problems.push(
      fileError(file, 'Unreadable', 'the file is not a valid request from logfleet pause or logfleet resume', remedy),
    );
  }
}

function foundRequest(directory: string, { paused, writer }: SettingsRequest): FoundSettings {
  const author = `${writer.by ?? 'a person'} (logfleet pause --all)`;
  const manifest = relative(directory, new StateDirectory(directory).settingsRequestFile);
  return { directory, manifest, pausedBy: paused ? author : undefined, source: 'request' };
}

function unreadable(file: string, problem: string, remedy: string, line = 1): DecodedFile {
  const problems = [{ ...fileError(file, 'Unreadable', problem, remedy), line }];
  return { resources: [], secrets: [], settings: [], refused: [], outlines: {}, problems, unclear: 'whole' };
}

function cutOff(file: string, text: string): DecodedFile {
  const problem = 'the file is probably truncated, because the last lines of its earlier version are missing';
  const remedy = 'write the complete file; if it is already complete, add a comment such as # end as its last line';
  return unreadable(file, problem, remedy, text.split('\n').length);
}

function incomplete(file: string, text: string, loss: string, others: readonly PlacedFinding[]): DecodedFile {
  const problem =
    `the file is probably not completely written yet: it lacks ${loss}, which its earlier version contains. ` +
    'logfleet is still using the earlier version';
  const remedy = `write the complete file; if it is already complete, leave it unchanged for ${lossDelayMs / 1_000} s`;
  const decoded = unreadable(file, problem, remedy, text.trimEnd().split('\n').length);
  // Warnings are left out, because they are about text that logfleet does not use yet. Errors are reported, because the
  // user may already have finished writing the file.
  return { ...decoded, problems: [...decoded.problems, ...others.filter(({ severity }) => severity === 'error')] };
}

/** Manifest file found in a directory, or a folder that cannot be listed. */
interface ScannedFile {
  /** Path of the file within its manifest directory. */
  readonly path: string;
  readonly content: ManifestContent | { readonly failure: string };
}

interface ManifestContent {
  readonly bytes: Uint8Array;
  /** Modification time in ms, according to the file system's clock. */
  readonly changedAtMs: number;
}

interface Scan {
  readonly files: readonly ScannedFile[];
  /** Paths of the manifest directory and its subfolders. */
  readonly folders: readonly string[];
  /** Paths of symbolic links to folders. These links are not followed. */
  readonly linkedFolders: readonly string[];
}

/** Maximum size of a manifest file in bytes. UTF-8 needs at most four bytes for each of the allowed characters. */
const maxManifestBytes = 4 * maxManifestLength;
/** Maximum number of manifest files that are open at the same time. The operating system limits this number. */
const readsAtOnce = 64;
const manifestForm = /\.(?:ya?ml|json)$/i;

/**
 * Reads all manifest files in a directory and its subfolders (`*.yaml`, `*.yml` and `*.json`), ordered by path. Fails
 * if the directory cannot be listed.
 *
 * Files and folders whose names begin with a dot are skipped. Symbolic links to folders are not followed, because they
 * can form cycles.
 */
async function scanManifests(directory: string): Promise<Scan> {
  const folders: string[] = [];
  const paths: string[] = [];
  const unlisted: ScannedFile[] = [];
  const linkedFolders: string[] = [];
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
      else if (entry.isSymbolicLink() && (await isFolder(path))) linkedFolders.push(path);
    }
  }
  const files: ScannedFile[] = [];
  paths.sort();
  for (let start = 0; start < paths.length; start += readsAtOnce) {
    const some = paths.slice(start, start + readsAtOnce).map((path) => readManifest(path, relative(directory, path)));
    files.push(...(await Promise.all(some)).filter((file) => file !== undefined));
  }
  return { files: [...files, ...unlisted], folders, linkedFolders };
}

/**
 * Lists a folder. Returns an empty list for a subfolder that has disappeared, but throws if the root directory is
 * missing.
 */
async function listEntries(folder: string, isRoot: boolean) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isRoot) throw error;
    return isFileAbsent(error) ? [] : { error };
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
    // A file that is listed but does not exist is usually a link to a missing file. It counts as unreadable, because
    // its resources must not count as deleted.
    const isGone = isFileAbsent(error) && !(await isListed(absolutePath));
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
  return { path, content: { failure: messageOf(error) } };
}
