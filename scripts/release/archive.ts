/** Writes reproducible tar archives: the same files always produce the same bytes. */
import { chmodSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { create } from 'tar';

export interface ArchiveOptions {
  /** Folder that contains all files in the archive. */
  readonly prefix: string;
  /** Modification time of all files in the archive. */
  readonly mtime: Date;
  /**
   * Reports whether to add a file to the archive. `path` is relative to the archived folder. Default: all files are
   * added.
   */
  readonly includes?: (path: string) => boolean;
}

/** Folders with executable files. */
const programFolders = /^(?:bin|runtime)\//;

/**
 * Writes the files below `folder` to a compressed archive. Before that, sets the permissions of these files on disk.
 */
export function writeArchive(folder: string, file: string, { prefix, mtime, includes = () => true }: ArchiveOptions) {
  const paths = filesBelow(folder).filter(includes);
  for (const path of paths) chmodSync(join(folder, path), programFolders.test(path) ? 0o755 : 0o644);
  create({ cwd: folder, file, prefix, mtime, portable: true, gzip: true, sync: true }, paths);
}

/** Returns the sorted relative paths of all files below a folder. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}
