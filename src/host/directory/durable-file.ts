/**
 * Reads and writes small files so that they survive a crash. A reader sees either the complete old content or the
 * complete new content. New content is written to a temporary file, which is then flushed and renamed. After a crash,
 * `removeTemporaryFiles` deletes the temporary file.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  failure,
  isFileAbsent,
  isSyncUnsupported,
  type LogfleetError,
  messageOf,
  systemCode,
} from '../../base/errors.ts';
import { type StateDirectory, stateFolderName } from './state-directory.ts';

let writes = 0;

/**
 * Durably replaces the content of a file. Creates missing folders. Fails with `host.disk` if the file cannot be
 * written.
 * @param mode permissions of the file
 */
export async function writeDurably(path: string, content: string, mode = 0o600): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}.${writes++}.tmp`);
  try {
    await makeFolders(folder);
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw directoryError('write', path, cause);
  }
}

/**
 * Returns the content of a file, or undefined if the file does not exist. Fails with `host.disk` if the file cannot be
 * read.
 */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isFileAbsent(cause)) return undefined;
    throw directoryError('read', path, cause);
  }
}

/**
 * Returns the sorted names of the files in a folder, except those that begin with a dot. Returns an empty list if the
 * folder does not exist.
 */
export async function listFolder(path: string): Promise<readonly string[]> {
  try {
    return (await readdir(path)).filter((name) => !name.startsWith('.')).sort();
  } catch (cause) {
    if (isFileAbsent(cause)) return [];
    throw directoryError('read', path, cause);
  }
}

/** Removes a file or a folder. Succeeds if the path does not exist. */
export async function removeDurably(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
    await syncFolder(dirname(path));
  } catch (cause) {
    if (!isFileAbsent(cause)) throw directoryError('remove', path, cause);
  }
}

/**
 * Copies a file or a folder. Each file is copied completely or not at all. Does nothing if the source does not exist.
 */
export async function copyDurably(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch((cause: unknown) => {
    if (systemCode(cause) === 'ENOTDIR') return undefined;
    if (isFileAbsent(cause)) return [];
    throw directoryError('read', from, cause);
  });
  if (entries) for (const { name } of entries) await copyDurably(join(from, name), join(to, name));
  else await writeDurably(to, (await readIfPresent(from)) ?? '');
}

/** Removes temporary files left behind by crashed processes. No process may write to the folder during the call. */
export async function removeTemporaryFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await removeTemporaryFiles(path);
    else if (entry.name.startsWith('.') && entry.name.endsWith('.tmp')) await rm(path, { force: true });
  }
}

/**
 * Creates a folder and its missing parents one by one. Node's recursive `mkdir` hangs in places where no folder can be
 * created, such as /proc.
 */
async function makeFolders(folder: string): Promise<void> {
  if (basename(folder) === stateFolderName || (await isFolder(folder))) return;
  if (dirname(folder) !== folder) await makeFolders(dirname(folder));
  await makeFolder(folder);
}

/**
 * Creates a folder in an existing folder, and flushes it to disk so that it survives a crash. Does nothing if the new
 * folder already exists.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder in the meantime.
    if (await isFolder(folder)) return;
    throw error;
  }
  await syncFolder(dirname(folder));
}

/**
 * Reports whether the path is a folder. Also returns false if the path cannot be read, because a later `mkdir` reports
 * the error.
 */
export async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/**
 * Flushes a folder to disk, so that renames in the folder survive a crash. Errors are ignored, because some file
 * systems cannot flush folders.
 */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync().catch((error: unknown) => {
      if (!isSyncUnsupported(error)) throw error;
    });
  } finally {
    await handle.close();
  }
}

export function directoryError(verb: 'read' | 'write' | 'remove', path: string, cause: unknown): LogfleetError {
  return failure('backoff', 'host.disk', `cannot ${verb} ${path}: ${messageOf(cause)}`, {
    reason: 'StateNotWritable',
    cause,
  });
}

/**
 * Creates the state folder `.logfleet` in an existing manifest directory, unless the folder already exists. Call this
 * function only when a process starts. Later, a missing folder means that the directory is not mounted. Fails with
 * `host.disk` if the folder cannot be created.
 */
export async function makeState({ folder }: StateDirectory): Promise<void> {
  try {
    await makeFolder(folder);
  } catch (cause) {
    throw directoryError('write', folder, cause);
  }
}

/** Says what a user can do if the lock file of a manifest directory is missing or cannot be read. */
export const unavailableRemedy =
  'mount the directory again or make it readable. If only its folder .logfleet was deleted, restore this folder from a backup, or restart logfleet, which then begins without the stored state';

/**
 * Fails with `host.disk` if a manifest directory has no lock file. In that case, the directory is probably not mounted,
 * so its missing files must not count as removed (D2).
 */
export async function requireState({ lockFile }: StateDirectory): Promise<void> {
  if ((await readIfPresent(lockFile)) !== undefined) return;
  const message = `${lockFile} is missing, so the directory is unavailable: ${unavailableRemedy}`;
  throw failure('backoff', 'host.disk', message, { reason: 'StateNotWritable' });
}
