/**
 * Reads several directories of manifests: each resource and each Secret once, the settings, what people asked, and what is wrong.
 *
 * Invariants:
 * - A file that cannot be read takes nothing away: `isKept` holds for everything that was read from it before (protocol D2).
 * - A file that lost only its end counts as cut off, and a file that changed a moment ago as not yet written to its end (D2).
 * - A resource that stands in two places is refused in both (D5).
 * - What cannot be used and has no former version is a hold (D1).
 */
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { decodeManifestText } from '../../api/manifest-text.ts';
import { readPause, settingsName } from '../../api/operator-settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { ResourceKey } from '../host.ts';
import type { FoundSettings } from './directory-settings.ts';
import {
  type DecodedFile,
  type DecodedResource,
  type DecodedSecret,
  decodeManifest,
  type PreviousOf,
  type RefusedDocument,
} from './manifest-decoding.ts';
import { type FileContent, type ScannedFile, scanManifests } from './manifest-scan.ts';
import type { Problem } from './problem.ts';
import { type Request, readRequests, type SettingsRequest } from './requests.ts';
import { identify } from './resource-cache.ts';
import { StateDirectory } from './state-directory.ts';
import { isCut, printOf, type TextPrint } from './text-print.ts';

/** A file has to stand unchanged for this long before it is read: a slow writer may be at work. */
export const quietMs = 1_000;

/** Something that stands in a manifest, and where. */
export interface Found<D> extends Place {
  readonly decoded: D;
}

/** Where something stands, or stood when it was read last. */
export interface Place {
  readonly directory: string;
  /** The file, or a folder, relative to the directory. */
  readonly manifest: string;
}

/** What is remembered of a file that was read to its end. */
export interface FileMemory {
  /** Identities of the resources, Secrets and settings in it that could be used. */
  readonly ids: readonly string[];
  /** Identities of those that could not. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
}

/** A manifest that cannot be used and has no former version that could stand for it. */
export interface Hold extends Place {
  /** Whether the operator's settings may be in it, which pause exports, too. */
  readonly mayPause: boolean;
  readonly problem: Problem;
}

export interface Reading {
  readonly resources: ReadonlyMap<string, Found<DecodedResource>>;
  readonly secrets: ReadonlyMap<string, Found<DecodedSecret>>;
  readonly settings: readonly FoundSettings[];
  readonly requests: ReadonlyMap<string, Request>;
  readonly problems: readonly Problem[];
  readonly holds: readonly Hold[];
  /** Folders whose changes matter. */
  readonly folders: readonly string[];
  /** Whether a file changed so short ago that it has to be read again soon. */
  readonly isUnfinished: boolean;
  /** Whether what was last read at `place` may still be there, although it is not among what was found. */
  isKept(kind: string, key: ResourceKey, place: Place): boolean;
  /** The same, of whatever may stand at a place: whether the file there could not be read. */
  isUnclear(place: Place): boolean;
}

/** What is known from before. */
export interface KnownBefore {
  readonly previousOf: PreviousOf;
  /** Where a resource, a Secret or the settings of this identity stood; undefined where they are not known. */
  placeOf(id: string): Place | undefined;
}

export interface ManifestReaderOptions {
  readonly directories: readonly string[];
  readonly clock: Clock;
  /** False for those who only look: they take files as they are, and there may be no state. */
  readonly isOperator: boolean;
}

interface Draft {
  readonly known: KnownBefore;
  readonly takesUnfinished: boolean;
  readonly resources: Map<string, Found<DecodedResource>[]>;
  readonly secrets: Map<string, Found<DecodedSecret>[]>;
  readonly settings: FoundSettings[];
  readonly requests: Map<string, Request>;
  readonly problems: Problem[];
  readonly folders: string[];
  readonly refused: (RefusedDocument & Place)[];
  /** Files, folders and directories of which it is unclear what is in them. */
  readonly unclear: (Place & { readonly isWhole: boolean; readonly problem: Problem })[];
  isUnfinished: boolean;
}

interface KnownFile {
  readonly bytes: Uint8Array;
  readonly file: DecodedFile;
}

export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  /** What was decoded from each file last; files that are gone are forgotten. */
  #decoded = new Map<string, KnownFile>();
  /** When each file was seen first as it is. */
  #seen = new Map<string, { readonly content: string; readonly sinceMs: number }>();
  readonly #memories = new Map<string, Map<string, FileMemory>>();
  readonly #changedMemories = new Set<string>();

  constructor(options: ManifestReaderOptions) {
    this.#options = options;
  }

  /** Takes up what a former process remembered of the files of a directory. */
  remember(directory: string, files: ReadonlyMap<string, FileMemory>): void {
    this.#memories.set(directory, new Map(files));
  }

  /** The directories whose memories have changed since this was asked last, with all that is remembered of their files. */
  takeChangedMemories(): readonly (readonly [string, ReadonlyMap<string, FileMemory>])[] {
    const changed = [...this.#changedMemories].map((directory) => [directory, this.#memoryOf(directory)] as const);
    this.#changedMemories.clear();
    return changed;
  }

  /**
   * Reads everything. Never fails: what cannot be read is among the problems. With `takesUnfinished` a file that keeps changing counts
   * as one that cannot be read.
   */
  async read(known: KnownBefore, takesUnfinished: boolean): Promise<Reading> {
    const draft: Draft = {
      ...{ known, takesUnfinished, isUnfinished: false },
      ...{ resources: new Map(), secrets: new Map(), settings: [], requests: new Map() },
      ...{ problems: [], folders: [], refused: [], unclear: [] },
    };
    const before = this.#decoded;
    this.#decoded = new Map();
    for (const directory of this.#options.directories) {
      const scan = await this.#scan(directory, draft);
      draft.folders.push(...(scan?.folders ?? []), new StateDirectory(directory).requestFolder);
      for (const file of scan?.files ?? []) {
        const decoded = this.#decode(directory, file, before.get(join(directory, file.path)), draft);
        if (decoded) gather(draft, directory, file.path, decoded);
      }
      if (scan) this.#forgetFiles(directory, scan.files, known);
      await gatherRequests(draft, directory);
    }
    return this.#conclude(draft);
  }

  #conclude(draft: Draft): Reading {
    refuseDoubles(draft, draft.resources);
    refuseDoubles(draft, draft.secrets);
    const refused = new Set(draft.refused.map(({ kind, key }) => identify(kind, key)));
    const isUnclear = (place: Place) => draft.unclear.some((unclear) => isAtOrBelow(place, unclear));
    const { settings, requests, problems, folders, isUnfinished } = draft;
    const resources = singles(draft.resources);
    const secrets = singles(draft.secrets);
    const found = new Set([...resources.keys(), ...secrets.keys(), ...settings.map(identifySettings)]);
    return {
      ...{ resources, secrets, settings, requests, problems, folders, isUnfinished, isUnclear },
      holds: this.#holdsOf(draft, found),
      isKept: (kind, key, place) => refused.has(identify(kind, key)) || isUnclear(place),
    };
  }

  #holdsOf({ refused, unclear, known }: Draft, found: ReadonlySet<string>): readonly Hold[] {
    const unknown = refused.filter(({ kind, key }) => known.placeOf(identify(kind, key)) === undefined);
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

  async #scan(directory: string, draft: Draft) {
    try {
      // A volume that was unmounted leaves an empty folder behind, and nobody has removed a manifest.
      if (this.#options.isOperator) await stat(new StateDirectory(directory).folder);
      return await scanManifests(directory);
    } catch (error) {
      const message = `cannot be read (${error instanceof Error ? error.message : String(error)}); mount it or make it readable`;
      refuseWhole(draft, { directory, manifest: '' }, wholeFile(directory, message));
      return undefined;
    }
  }

  #decode(
    directory: string,
    { path, content }: ScannedFile,
    before: KnownFile | undefined,
    draft: Draft,
  ): DecodedFile | undefined {
    const file = join(directory, path);
    if ('failure' in content) {
      const message = `cannot be read (${content.failure}); make it readable, or delete it`;
      if (before) this.#decoded.set(file, before);
      return unreadable(wholeFile(file, message));
    }
    const isQuiet = this.#isQuiet(file, content);
    if (before && (!isQuiet || Buffer.compare(before.bytes, content.bytes) === 0)) {
      draft.isUnfinished ||= !isQuiet;
      this.#decoded.set(file, before);
      return before.file;
    }
    if (!isQuiet) {
      draft.isUnfinished = true;
      if (!draft.takesUnfinished) return undefined;
      return unreadable(wholeFile(file, 'keeps changing while it is read; wait until it is written'));
    }
    const decoded = this.#decodeText(directory, path, content.bytes, draft.known.previousOf);
    this.#decoded.set(file, { bytes: content.bytes, file: decoded });
    return decoded;
  }

  #decodeText(directory: string, path: string, bytes: Uint8Array, previousOf: PreviousOf): DecodedFile {
    const file = join(directory, path);
    const read = decodeManifestText(bytes);
    if ('refusal' in read) return decodeManifest(file, bytes, previousOf);
    const memory = this.#memoryOf(directory).get(path);
    if (memory && memory.ids.length > 0 && isCut(read.text, memory.print)) return unreadable(cutOff(file, read.text));
    const decoded = decodeManifest(file, read.text, previousOf);
    if (decoded.unclear === undefined) {
      this.#memoryOf(directory).set(path, { ...idsIn(decoded, directory, path), print: printOf(read.text) });
      this.#changedMemories.add(directory);
    }
    return decoded;
  }

  /** By the time of the file and, where clocks differ, by how long it was seen like this. */
  #isQuiet(file: string, { bytes, changedAtMs }: FileContent): boolean {
    const { clock, isOperator } = this.#options;
    if (!isOperator) return true;
    const content = `${changedAtMs} ${bytes.length}`;
    const nowMs = clock.monotonic();
    const seen = this.#seen.get(file);
    const sinceMs = seen?.content === content ? seen.sinceMs : nowMs;
    this.#seen.set(file, { content, sinceMs });
    return Math.max(clock.now() - changedAtMs, nowMs - sinceMs) >= quietMs;
  }

  /** What is remembered of a file that is gone goes once nothing that was in it is known any more. */
  #forgetFiles(directory: string, files: readonly ScannedFile[], known: KnownBefore): void {
    const present = new Set(files.map(({ path }) => path));
    for (const file of this.#seen.keys()) {
      if (
        isAtOrBelow({ directory: file, manifest: '' }, { directory, manifest: '' }) &&
        !present.has(relative(directory, file))
      )
        this.#seen.delete(file);
    }
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
    ...file.resources.map(({ kind, key }) => identify(kind, key)),
    ...file.secrets.map(({ key }) => identify('Secret', key)),
    ...(file.settings.length > 0 ? [identifySettings({ directory, manifest })] : []),
  ];
  const doubled = all.filter((id, index) => all.indexOf(id) !== index);
  const refused = [...file.refused.map(({ kind, key }) => identify(kind, key)), ...doubled];
  return { ids: all.filter((id) => !refused.includes(id)), refused };
}

/** The identity of the settings in a file. */
export function identifySettings({ directory, manifest }: Place): string {
  return `settings/${join(directory, manifest)}`;
}

function gather(draft: Draft, directory: string, manifest: string, decoded: DecodedFile): void {
  const place = { directory, manifest };
  draft.problems.push(...decoded.problems);
  const problem = decoded.problems.find(({ severity }) => severity === 'error');
  if (decoded.unclear !== undefined && problem) {
    draft.unclear.push({ ...place, problem, isWhole: decoded.unclear === 'whole' });
  }
  for (const refused of decoded.refused) draft.refused.push({ ...refused, ...place });
  for (const resource of decoded.resources)
    add(draft.resources, identify(resource.kind, resource.key), { decoded: resource, ...place });
  for (const secret of decoded.secrets)
    add(draft.secrets, identify('Secret', secret.key), { decoded: secret, ...place });
  for (const { paused } of decoded.settings) {
    const pause = readPause(paused);
    const odd = pause?.oddValue === undefined ? '' : `, whose paused is ${JSON.stringify(pause.oddValue)}`;
    const pausedBy = pause && `the ConfigMap ${settingsName} in ${join(directory, manifest)}${odd}`;
    draft.settings.push({ ...place, pausedBy, source: 'manifest' });
  }
}

function add<D>(found: Map<string, D[]>, id: string, entry: D): void {
  found.set(id, [...(found.get(id) ?? []), entry]);
}

function singles<D>(found: ReadonlyMap<string, readonly D[]>): ReadonlyMap<string, D> {
  return new Map([...found].flatMap(([id, [first]]) => (first ? [[id, first] as const] : [])));
}

/** Whoever stands in two places, good or bad, counts in neither. */
function refuseDoubles<D extends DecodedResource | DecodedSecret>(draft: Draft, found: Map<string, Found<D>[]>): void {
  const refused = new Map(draft.refused.map((each) => [identify(each.kind, each.key), each]));
  for (const [id, entries] of found) {
    const bad = refused.get(id);
    const [first, ...others] = entries;
    if (!first || (others.length === 0 && !bad)) continue;
    found.delete(id);
    for (const entry of others.length > 0 ? others : entries) {
      const other = others.length > 0 ? describe(first) : join(bad?.directory ?? '', bad?.manifest ?? '');
      const problem = doubled(id, entry, other);
      draft.problems.push(problem);
      draft.refused.push({
        ...kindAndKey(entry.decoded),
        directory: entry.directory,
        manifest: entry.manifest,
        problem,
      });
    }
  }
}

function kindAndKey(decoded: DecodedResource | DecodedSecret): Pick<RefusedDocument, 'kind' | 'key'> {
  return { kind: 'kind' in decoded ? decoded.kind : 'Secret', key: decoded.key };
}

function doubled(
  id: string,
  { directory, manifest, decoded }: Found<DecodedResource | DecodedSecret>,
  other: string,
): Problem {
  const name = id.replace('/', ' ');
  const message = `${name} is also in ${other}, so neither of the two is used; rename or delete one of them`;
  return { severity: 'error', file: join(directory, manifest), ...decoded.position, message };
}

function describe({ directory, manifest, decoded: { position } }: Found<DecodedResource | DecodedSecret>): string {
  return `${join(directory, manifest)}:${position.line}`;
}

async function gatherRequests(draft: Draft, directory: string): Promise<void> {
  const { requests, settings, unreadable: bad } = await readRequests(directory);
  for (const request of requests) draft.requests.set(identify(request.kind, request), request);
  if (settings) draft.settings.push(foundRequest(directory, settings));
  for (const file of bad) {
    draft.problems.push(
      wholeFile(file, 'is no request; delete it, and ask again with logfleet pause or logfleet resume'),
    );
  }
}

function foundRequest(directory: string, { paused, writer }: SettingsRequest): FoundSettings {
  const who = `${writer.by ?? 'a person'} (logfleet pause --all)`;
  const manifest = relative(directory, new StateDirectory(directory).settingsRequestFile);
  return { directory, manifest, pausedBy: paused ? who : undefined, source: 'request' };
}

function refuseWhole(draft: Draft, place: Place, problem: Problem): void {
  draft.problems.push(problem);
  draft.unclear.push({ ...place, problem, isWhole: true });
}

function unreadable(problem: Problem): DecodedFile {
  return { resources: [], secrets: [], settings: [], refused: [], problems: [problem], unclear: 'whole' };
}

function cutOff(file: string, text: string): Problem {
  const line = text.split('\n').length;
  const message =
    'the file ends here, and its former end is missing, as if it were cut off; write the whole file, or confirm the new end with a ' +
    'comment as the last line, such as # end';
  return { severity: 'error', file, line, column: 1, message };
}

function wholeFile(file: string, message: string): Problem {
  return { severity: 'error', file, line: 1, column: 1, message };
}
