/**
 * What stands in several directories of manifests now: each resource and each Secret once, the settings, what a person asked, and
 * what is wrong. A file is decoded again when its text changed.
 *
 * Invariant: `isKept` holds for whatever may still be there although it cannot be read: refused documents, files that cannot be
 * opened or parsed, directories that cannot be listed.
 */
import { join, relative } from 'node:path';
import type { KindName } from '../../api/kinds.ts';
import { readPause, settingsName } from '../../api/operator-settings.ts';
import type { ResourceKey } from '../host.ts';
import type { FoundSettings } from './directory-settings.ts';
import {
  type DecodedFile,
  type DecodedResource,
  type DecodedSecret,
  decodeManifest,
  type PreviousOf,
} from './manifest-decoding.ts';
import { type ScannedFile, scanManifests } from './manifest-scan.ts';
import type { Problem } from './problem.ts';
import { type Request, readRequests, type SettingsRequest } from './requests.ts';
import { identify } from './resource-cache.ts';
import { StateDirectory } from './state-directory.ts';

/** Something that stands in a manifest, and where. */
export interface Found<D> {
  readonly decoded: D;
  readonly directory: string;
  /** Relative to the directory. */
  readonly manifest: string;
}

/** Where something stood when it was read last. */
export interface Place {
  readonly directory: string;
  readonly manifest: string;
}

export interface Reading {
  readonly resources: ReadonlyMap<string, Found<DecodedResource>>;
  readonly secrets: ReadonlyMap<string, Found<DecodedSecret>>;
  readonly settings: readonly FoundSettings[];
  readonly requests: ReadonlyMap<string, Request>;
  readonly problems: readonly Problem[];
  /** Folders whose changes matter. */
  readonly folders: readonly string[];
  /** Whether what was last read at `place` may still be there, although it is not among what was found. */
  isKept(kind: string, key: ResourceKey, place: Place): boolean;
  /** The same, of whatever may stand at a place: whether the file there could not be read. */
  isUnclear(place: Place): boolean;
}

interface Draft {
  readonly resources: Map<string, Found<DecodedResource>>;
  readonly secrets: Map<string, Found<DecodedSecret>>;
  readonly settings: FoundSettings[];
  readonly requests: Map<string, Request>;
  readonly problems: Problem[];
  readonly folders: string[];
  readonly refused: Set<string>;
  /** Files, folders and directories of which it is unclear what is in them. */
  readonly unclear: string[];
}

export class ManifestReader {
  readonly #directories: readonly string[];
  /** What was decoded from each file last; files that are gone are forgotten. */
  #decoded = new Map<string, { readonly text: string; readonly file: DecodedFile }>();

  constructor(directories: readonly string[]) {
    this.#directories = directories;
  }

  /** Reads everything. Never fails: what cannot be read is among the problems. */
  async read(previousOf: PreviousOf, placeOf: (id: string) => Place | undefined): Promise<Reading> {
    const draft: Draft = {
      resources: new Map(),
      secrets: new Map(),
      settings: [],
      requests: new Map(),
      problems: [],
      folders: [],
      refused: new Set(),
      unclear: [],
    };
    const before = this.#decoded;
    this.#decoded = new Map();
    for (const directory of this.#directories) {
      const { files, folders } = await scan(directory, draft);
      draft.folders.push(...folders, new StateDirectory(directory).requestFolder);
      for (const file of files) {
        const decoded = this.#decode(directory, file, before, previousOf, draft);
        if (decoded) gather(draft, directory, file.path, decoded, placeOf);
      }
      await gatherRequests(draft, directory);
    }
    const { refused, unclear, ...reading } = draft;
    const isUnclear = ({ directory, manifest }: Place) => {
      const path = join(directory, manifest);
      return unclear.some((place) => path === place || path.startsWith(join(place, '/')));
    };
    const isKept = (kind: string, key: ResourceKey, place: Place) =>
      refused.has(identify(kind, key)) || isUnclear(place);
    return { ...reading, isKept, isUnclear };
  }

  #decode(
    directory: string,
    { path, text, failure }: ScannedFile,
    before: ReadonlyMap<string, { readonly text: string; readonly file: DecodedFile }>,
    previousOf: PreviousOf,
    draft: Draft,
  ): DecodedFile | undefined {
    const file = join(directory, path);
    if (text === undefined) {
      draft.unclear.push(file);
      draft.problems.push(wholeFile(file, `cannot be read (${failure}); what was read from it before stays as it was`));
      return undefined;
    }
    const known = before.get(file);
    const decoded = known?.text === text ? known.file : decodeManifest(file, text, previousOf);
    this.#decoded.set(file, { text, file: decoded });
    return decoded;
  }
}

async function scan(directory: string, draft: Draft) {
  try {
    return await scanManifests(directory);
  } catch (error) {
    draft.unclear.push(directory);
    const message = error instanceof Error ? error.message : String(error);
    draft.problems.push(
      wholeFile(directory, `cannot be read (${message}); what was read from it before stays as it was`),
    );
    return { files: [], folders: [] };
  }
}

function gather(
  draft: Draft,
  directory: string,
  manifest: string,
  decoded: DecodedFile,
  placeOf: (id: string) => Place | undefined,
): void {
  draft.problems.push(...decoded.problems);
  if (decoded.unclear) draft.unclear.push(join(directory, manifest));
  for (const { kind, key } of decoded.refused) draft.refused.add(identify(kind, key));
  for (const resource of decoded.resources) {
    add(draft, draft.resources, resource.kind, { decoded: resource, directory, manifest }, placeOf);
  }
  for (const secret of decoded.secrets)
    add(draft, draft.secrets, 'Secret', { decoded: secret, directory, manifest }, placeOf);
  for (const { paused } of decoded.settings) {
    const pause = readPause(paused);
    const odd = pause?.oddValue === undefined ? '' : `, whose paused is ${JSON.stringify(pause.oddValue)}`;
    const pausedBy = pause && `the ConfigMap ${settingsName} in ${join(directory, manifest)}${odd}`;
    draft.settings.push({ directory, manifest, pausedBy, isRequest: false });
  }
}

/** Of two that bear one name, the one counts that counted before; else the first. */
function add<D extends DecodedResource | DecodedSecret>(
  draft: Draft,
  found: Map<string, Found<D>>,
  kind: KindName | 'Secret',
  entry: Found<D>,
  placeOf: (id: string) => Place | undefined,
): void {
  const id = identify(kind, entry.decoded.key);
  const other = found.get(id);
  const place = placeOf(id);
  const countedBefore = place?.directory === entry.directory && place.manifest === entry.manifest;
  const isSameFile = other?.directory === entry.directory && other.manifest === entry.manifest;
  const [winner, loser] = other && !(countedBefore && !isSameFile) ? [other, entry] : [entry, other];
  found.set(id, winner);
  if (!loser) return;
  const { namespace, name } = winner.decoded.key;
  draft.problems.push({
    severity: 'error',
    file: join(loser.directory, loser.manifest),
    ...loser.decoded.position,
    message: `${kind} ${namespace}/${name} stands in ${describe(winner)} already, which is the one that counts; rename or delete one of the two`,
  });
}

function describe({ directory, manifest, decoded: { position } }: Found<DecodedResource | DecodedSecret>): string {
  return `${join(directory, manifest)}:${position.line}`;
}

async function gatherRequests(draft: Draft, directory: string): Promise<void> {
  const { requests, settings, unreadable } = await readRequests(directory);
  for (const request of requests) draft.requests.set(identify(request.kind, request), request);
  if (settings) draft.settings.push(foundRequest(directory, settings));
  for (const file of unreadable) {
    draft.problems.push(
      wholeFile(file, 'is no request; delete it, and ask again with logfleet pause or logfleet resume'),
    );
  }
}

function foundRequest(directory: string, { paused, writer }: SettingsRequest): FoundSettings {
  const who = `${writer.by ?? 'a person'} (logfleet pause --all)`;
  const manifest = relative(directory, new StateDirectory(directory).settingsRequestFile);
  return { directory, manifest, pausedBy: paused ? who : undefined, isRequest: true };
}

function wholeFile(file: string, message: string): Problem {
  return { severity: 'error', file, line: 1, column: 1, message };
}
