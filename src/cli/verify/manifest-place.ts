/** Finds the exports for `logfleet verify` from a manifest, a folder, or an address in an object store. */

import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemCode } from '../../base/errors.ts';
import { counted } from '../../base/number-text.ts';
import { manifestFile, planFile } from '../../destination/export-layout.ts';
import type { DestinationSettings } from '../../destination/open-destination.ts';
import type { CommandContext } from '../command/context.ts';
import type { StoreOptions } from '../command/options.ts';
import { ifReadable } from '../command/readable.ts';
import { readStoreAddress, regionOf, type StoreAddress } from '../command/store-address.ts';
import { UsageError } from '../command/usage-error.ts';
import { printable } from '../render/text.ts';

/** Folder that cannot be read, so that its exports cannot be verified. */
export interface UnreadFolder {
  readonly folder: string;
  /** Code of the error, such as `EACCES`. */
  readonly code: string;
}

export interface VerifiablePlaces {
  /** Folders of the exports to verify, at least one. */
  readonly places: readonly DestinationSettings[];
  readonly unread: readonly UnreadFolder[];
}

/** Returns the folders of the exports to verify, and the folders that cannot be read. */
export function placesOfExports(
  text: string,
  options: StoreOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): VerifiablePlaces {
  const address = readStoreAddress(text, options.endpoint);
  if (address) {
    const place = storeSettings({ ...address, folder: folderOfManifest(address.folder) }, options, env);
    return { places: [place], unread: [] };
  }
  const { folders, unread } = foldersOf(text, cwd);
  return { places: folders.map((directory) => ({ kind: 'volume', directory, root: '' })), unread };
}

/** Destination of a schedule's runs, and the name of the schedule. */
export interface SchedulePlace {
  readonly settings: DestinationSettings;
  readonly schedule: string;
}

/** Returns the destination of a schedule's runs. `text` is a path, or an address in an object store. */
export function placeOfSchedule(
  text: string,
  options: StoreOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): SchedulePlace {
  const address = readStoreAddress(text, options.endpoint);
  if (address) {
    const { folder, schedule } = partsOfSchedule(address.folder, text, scheduleForms[address.kind]);
    return { settings: storeSettings({ ...address, folder }, options, env), schedule };
  }
  const path = localPath(text, cwd);
  if (!statsOf(path, text)?.isDirectory()) throw new UsageError(`${text} is not a folder`);
  return { settings: { kind: 'volume', directory: dirname(path), root: '' }, schedule: basename(path) };
}

const scheduleForms = {
  s3: 's3://BUCKET/FOLDER/SCHEDULE',
  gcs: 'gs://BUCKET/FOLDER/SCHEDULE',
  azureBlob: 'https://HOST/CONTAINER/FOLDER/SCHEDULE',
} as const;

/**
 * Splits the address of a schedule's folder into the schedule's name and the address of the parent folder, which
 * contains the runs.
 */
function partsOfSchedule(path: string, address: string, form: string) {
  const [, folder = '', schedule = ''] = /^(?:(.*)\/)?([^/]+)$/.exec(path) ?? [];
  if (schedule === '')
    throw new UsageError(`'${address}' is not the folder of a schedule; use an address of the form ${form}`);
  return { folder, schedule };
}

function storeSettings(
  address: StoreAddress,
  { endpoint, region, pathStyle, insecure }: StoreOptions,
  env: CommandContext['env'],
): DestinationSettings {
  const { folder: root, ...place } = address;
  const access = { root, credentials: 'ambient' as const, ...(insecure === undefined ? {} : { insecure }) };
  if (place.kind === 'azureBlob') {
    const { kind, ...container } = place;
    return { kind, settings: { ...container, ...access } };
  }
  const { kind, bucket } = place;
  const settings = { bucket, ...access, ...(endpoint === undefined ? {} : { endpoint }) };
  if (kind === 'gcs') return { kind, settings };
  const ownRegion = regionOf(region, env);
  return {
    kind,
    settings: {
      ...settings,
      ...(ownRegion ? { region: ownRegion } : {}),
      ...(pathStyle === undefined ? {} : { forcePathStyle: pathStyle }),
    },
  };
}

function folderOfManifest(name: string): string {
  return name.replace(/(?:^|\/)manifest\.json$/, '').replace(/\/$/, '');
}

/** Returns the absolute path for `text`, which is a path or an address such as `file:///srv/exports`. */
function localPath(text: string, cwd: string): string {
  if (!text.startsWith('file://')) return resolve(cwd, text);
  try {
    return fileURLToPath(text);
  } catch {
    throw new UsageError(`'${text}' is not the address of a file on this machine: write a path, or file:///PATH`);
  }
}

/**
 * Returns the metadata of the file at a path, or undefined if there is no file. Error messages show the path as `text`.
 */
function statsOf(path: string, text: string): Stats | undefined {
  return ifReadable(text, () => statSync(path, { throwIfNoEntry: false }));
}

/** Returns the folders at or below a path that contain exports. Throws if there is none. */
function foldersOf(text: string, cwd: string): FoundExports {
  const path = localPath(text, cwd);
  const stats = statsOf(path, text);
  if (!stats) throw new UsageError(`${text} does not exist`);
  if (!stats.isDirectory()) {
    if (path.endsWith(`/${manifestFile}`)) return { folders: [dirname(path)], unread: [] };
    throw new UsageError(
      `${text} is not the manifest of an export: use the file ${manifestFile}, or the folder that contains it`,
    );
  }
  const found = findExports(path, { folders: [], unread: [] });
  if (found.folders.length > 0) return found;
  throw new UsageError(
    `${text} and the folders below it contain no manifest of an export (${manifestFile})${renderUnread(found.unread)}`,
  );
}

/** Renders the names of unreadable folders as the end of a message. */
export function renderUnread([first, ...more]: readonly UnreadFolder[]): string {
  if (first === undefined) return '';
  const others = more.length === 0 ? '' : ` and ${counted(more.length, 'other folder')}`;
  return `; these could not be read: ${printable(first.folder)} (${first.code})${others}`;
}

interface FoundExports {
  readonly folders: string[];
  readonly unread: UnreadFolder[];
}

/**
 * Collects all folders that contain the manifest or the plan of an export. Symbolic links are not followed, because
 * they could form a cycle.
 */
function findExports(folder: string, found: FoundExports): FoundExports {
  const entries = readFolder(folder);
  if (typeof entries === 'string') found.unread.push({ folder, code: entries });
  else if (entries.some(({ name }) => name === manifestFile || name === planFile)) found.folders.push(folder);
  else {
    const inner = entries.filter((entry) => entry.isDirectory() && !isForeign(entry.name));
    for (const { name } of inner) findExports(join(folder, name), found);
  }
  return found;
}

/**
 * Returns true for hidden folders, and for the folder that ext4 creates in the root of a volume, which only root can
 * read.
 */
function isForeign(name: string): boolean {
  return name.startsWith('.') || name === 'lost+found';
}

/** Returns the entries of a folder. If the folder cannot be read, returns the error code. */
function readFolder(folder: string): readonly Dirent[] | string {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    return systemCode(error) ?? String(error);
  }
}
