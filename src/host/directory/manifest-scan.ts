/**
 * Reads all manifest files of a directory and its subfolders: `*.yaml`, `*.yml` and `*.json`, ordered by path. The content is not
 * interpreted here.
 *
 * Names that begin with a dot are skipped: `.logfleet`, `.git`, and the folders behind a mounted ConfigMap. Symbolic links to folders are
 * skipped because they can form cycles. Links to files are followed.
 */
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { maxManifestLength } from '../../api/manifest-file.ts';
import { isAbsent } from './durable-file.ts';

/** A file, or a folder that cannot be listed. */
export interface ScannedFile {
  /** Path relative to the directory. */
  readonly path: string;
  readonly content: FileContent | { readonly failure: string };
}

export interface FileContent {
  readonly bytes: Uint8Array;
  /** Time of the last change, by the clock of the file system. */
  readonly changedAtMs: number;
}

interface Scan {
  readonly files: readonly ScannedFile[];
  /** The directory and its subfolders, as paths to watch. */
  readonly folders: readonly string[];
}

/** Upper limit in bytes for a manifest of the allowed length, in UTF-8 or UTF-16. */
const maxManifestBytes = 4 * maxManifestLength;
const manifestForm = /\.(?:ya?ml|json)$/i;

/** Fails if the directory itself cannot be listed. */
export async function scanManifests(directory: string): Promise<Scan> {
  const folders: string[] = [];
  const paths: string[] = [];
  const unlisted: ScannedFile[] = [];
  const waiting = [directory];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await listEntries(folder, folder === directory);
    if (!Array.isArray(entries)) {
      unlisted.push(unreadable(relative(directory, folder), entries.error));
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

/** A subfolder may disappear during the scan. A missing root directory is an error. */
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
    const { size, mtimeMs } = await stat(absolutePath).then((stats) =>
      stats.isFile() ? stats : { size: -1, mtimeMs: 0 },
    );
    if (size < 0) return undefined;
    if (size > maxManifestBytes) return { path, content: { failure: `it has more than ${maxManifestBytes} bytes` } };
    return { path, content: { bytes: await readFile(absolutePath), changedAtMs: mtimeMs } };
  } catch (error) {
    // A listed file that cannot be opened is a link to a missing file. The manifest itself was not removed.
    const isGone = isAbsent(error) && !(await isListed(absolutePath));
    return isGone ? undefined : unreadable(path, error);
  }
}

async function isListed(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

function unreadable(path: string, error: unknown): ScannedFile {
  return { path, content: { failure: error instanceof Error ? error.message : String(error) } };
}
