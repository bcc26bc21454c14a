/**
 * Where the exports lie that a command line names by a manifest: a file, a folder, or an address of an object store. A folder may hold
 * an export itself, or, as a volume does, have some below.
 */
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { manifestFile, planFile } from '../destination/export-layout.ts';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { CommandContext } from './context.ts';
import type { StoreOptions } from './options.ts';
import { counted } from './render/counted.ts';
import { UsageError } from './usage-error.ts';

/** Destinations, at least one, whose root is an export's own folder. */
export function placesOfExports(
  text: string,
  options: StoreOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): readonly DestinationSettings[] {
  if (text.startsWith('s3://')) return [storePlace(text, options, env)];
  const flag = storeFlags.find(([attribute]) => options[attribute] !== undefined)?.[1];
  if (flag !== undefined)
    throw new UsageError(`${flag} is for a manifest at s3://, and ${text} is a file: leave it out`);
  return foldersOf(text, cwd).map((directory) => ({ kind: 'volume', directory, root: '' }));
}

const storeFlags = [
  ['endpoint', '--endpoint'],
  ['region', '--region'],
  ['pathStyle', '--path-style'],
  ['insecure', '--insecure'],
] as const satisfies readonly (readonly [keyof StoreOptions, string])[];

function storePlace(
  text: string,
  { endpoint, region, pathStyle, insecure }: StoreOptions,
  env: CommandContext['env'],
): DestinationSettings {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(text) ?? [];
  if (bucket === '') throw new UsageError(`'${text}' names no bucket; write s3://BUCKET/FOLDER/${manifestFile}`);
  const ownRegion = regionOf(region, env);
  const settings = {
    bucket,
    root: key.replace(/(?:^|\/)manifest\.json$/, '').replace(/\/$/, ''),
    credentials: 'ambient' as const,
    ...(ownRegion ? { region: ownRegion } : {}),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(pathStyle === undefined ? {} : { forcePathStyle: pathStyle }),
    ...(insecure === undefined ? {} : { insecure }),
  };
  return { kind: 's3', settings };
}

/** As Amazon's own tools have it: a flag, else the environment. */
export function regionOf(region: string | undefined, env: CommandContext['env']): string | undefined {
  return region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || undefined);
}

/** The folders of the exports that a path means, at least one. */
function foldersOf(text: string, cwd: string): readonly string[] {
  const path = text.startsWith('file://') ? fileURLToPath(text) : resolve(cwd, text);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new UsageError(`there is no file or folder ${text}`);
  if (!stats.isDirectory()) {
    if (path.endsWith(`/${manifestFile}`)) return [dirname(path)];
    throw new UsageError(`${text} is no manifest: that is called ${manifestFile}, and the files lie beside it`);
  }
  const { folders, unread } = findExports(path, { folders: [], unread: [] });
  if (folders.length > 0) return folders;
  throw new UsageError(`there is no ${manifestFile} in ${text} or below it${unreadText(unread)}`);
}

/** A volume has folders that are nobody's business, as lost+found: they count where nothing else is found. */
function unreadText(unread: readonly string[]): string {
  const [first, ...more] = unread;
  if (first === undefined) return '';
  const others = more.length === 0 ? '' : ` and ${counted(more.length, 'other folder')}`;
  return `, as far as it can be read: ${first}${others} cannot`;
}

interface FoundExports {
  readonly folders: string[];
  /** Folders that cannot be read, with the code of why. */
  readonly unread: string[];
}

/** Folders with a manifest or a plan, the latter being of exports that are not complete. Links are not followed, so that it ends. */
function findExports(folder: string, found: FoundExports): FoundExports {
  const entries = readFolder(folder);
  if (typeof entries === 'string') found.unread.push(`${folder} (${entries})`);
  else if (entries.some(({ name }) => name === manifestFile || name === planFile)) found.folders.push(folder);
  else {
    const inner = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    for (const { name } of inner) findExports(join(folder, name), found);
  }
  return found;
}

/** A text says why it cannot be read. */
function readFolder(folder: string): readonly Dirent[] | string {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
