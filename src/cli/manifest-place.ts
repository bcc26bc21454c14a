/**
 * Where the export lies that a command line names by its manifest: a file, a folder, or an address of an object store. A folder may hold
 * the export itself, or, as a volume does, have it somewhere below.
 */
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DestinationSettings } from '../destination/open-destination.ts';
import type { CommandContext } from './context.ts';
import type { StoreOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

/** A destination whose root is the export's own folder. */
export function exportPlace(
  text: string,
  options: StoreOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): DestinationSettings {
  if (text.startsWith('s3://')) return storePlace(text, options, env);
  const flag = storeFlags.find(([attribute]) => options[attribute] !== undefined)?.[1];
  if (flag !== undefined)
    throw new UsageError(`${flag} is for a manifest at s3://, and ${text} is a file: leave it out`);
  return { kind: 'volume', directory: folderOf(text, cwd), root: '' };
}

const storeFlags = [
  ['endpoint', '--endpoint'],
  ['region', '--region'],
  ['pathStyle', '--path-style'],
  ['insecure', '--insecure'],
] as const satisfies readonly (readonly [keyof StoreOptions, string])[];

const manifestName = 'manifest.json';

function storePlace(
  text: string,
  { endpoint, region, pathStyle, insecure }: StoreOptions,
  env: CommandContext['env'],
): DestinationSettings {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(text) ?? [];
  if (bucket === '') throw new UsageError(`'${text}' names no bucket; write s3://BUCKET/FOLDER/${manifestName}`);
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

/** The folder of the one export that a path means. */
function folderOf(text: string, cwd: string): string {
  const path = text.startsWith('file://') ? fileURLToPath(text) : resolve(cwd, text);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new UsageError(`there is no file or folder ${text}`);
  if (!stats.isDirectory()) {
    if (path.endsWith(`/${manifestName}`)) return dirname(path);
    throw new UsageError(`${text} is no manifest: that is called ${manifestName}, and the files lie beside it`);
  }
  const [first, ...more] = exportsBelow(path);
  if (first === undefined) throw new UsageError(`there is no ${manifestName} in ${text} or below it`);
  if (more.length === 0) return first;
  const named = [first, ...more].slice(0, namedExports).map((folder) => `\n  ${join(text, relative(path, folder))}`);
  const others = more.length + 1 - named.length;
  const rest = others > 0 ? `\n  and ${others} more` : '';
  throw new UsageError(`there are several exports below ${text}; name one of them:${named.join('')}${rest}`);
}

const namedExports = 10;
/** `<namespace>/<path>/<name>/<fingerprint>`, with some folders in the path. */
const deepest = 8;

/** Folders with a manifest or a plan, the latter being of exports that are not complete. */
function exportsBelow(folder: string, depth = 0): readonly string[] {
  const entries = readFolder(folder);
  if (entries.some(({ name }) => name === manifestName || name === 'plan.json')) return [folder];
  if (depth === deepest) return [];
  const inner = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return inner.flatMap(({ name }) => exportsBelow(join(folder, name), depth + 1));
}

function readFolder(folder: string): readonly Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    throw new UsageError(`${folder} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}
