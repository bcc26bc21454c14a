/**
 * Small files that survive a crash: whoever reads one sees the whole of what was written last, or the whole of what stood there
 * before, and what `writeDurably` has resolved for is on the disk.
 *
 * A write goes to a temporary file beside its target, which is flushed and then renamed. A process that dies in between leaves
 * a temporary file behind: its name begins with a dot and ends in `.tmp`, no reader takes it for content, and
 * `removeLeftovers` tidies it up.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LogfleetError } from '../../base/errors.ts';

let writes = 0;

/** Replaces the content of a file, and makes the folders above it where they are missing. `host.disk` when that fails. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}.${writes++}.tmp`);
  try {
    await makeFolder(folder);
    const file = await open(temporary, 'wx', 0o600);
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
    throw diskError('write', path, cause);
  }
}

/** The content of a file, or undefined when there is none. `host.disk` when it cannot be read. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isAbsent(cause)) return undefined;
    throw diskError('read', path, cause);
  }
}

/** Names of the entries of a folder without those that begin with a dot; none when there is no such folder. */
export async function listFolder(path: string): Promise<readonly string[]> {
  try {
    return (await readdir(path)).filter((name) => !name.startsWith('.')).sort();
  } catch (cause) {
    if (isAbsent(cause)) return [];
    throw diskError('read', path, cause);
  }
}

/** Removes a file, or a folder with all that is in it. Fine when there is none. */
export async function removeDurably(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
    await syncFolder(dirname(path));
  } catch (cause) {
    if (!isAbsent(cause)) throw diskError('remove', path, cause);
  }
}

/** Copies a file, or a folder with all that is in it; each file is whole or absent. Fine when there is none. */
export async function copyDurably(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOTDIR') return undefined;
    if (isAbsent(cause)) return [];
    throw diskError('read', from, cause);
  });
  if (entries) for (const { name } of entries) await copyDurably(join(from, name), join(to, name));
  else await writeDurably(to, (await readIfPresent(from)) ?? '');
}

/** Removes the temporary files that a process which died has left in a folder and below it. Nobody may be writing there. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await removeLeftovers(path);
    else if (entry.name.startsWith('.') && entry.name.endsWith('.tmp')) await rm(path, { force: true });
  }
}

/**
 * A folder and those above it, each entry on the disk before the next is made. Step by step: Node's own way to make all at once never
 * ends where nothing can be made, as in /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Somebody else may have been quicker.
    if (await isFolder(folder)) return;
    throw error;
  }
  await syncFolder(dirname(folder));
}

/** What stands there otherwise, or that nothing can be looked at, is said by who makes it. */
async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** A rename is on the disk once its folder is. Some file systems cannot flush folders: there it is as safe as it gets. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync().catch((error: unknown) => {
      if (!['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'].includes(codeOf(error) ?? '')) throw error;
    });
  } finally {
    await handle.close();
  }
}

export function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

/** `ENOENT` and its like. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export function diskError(verb: 'read' | 'write' | 'remove', path: string, cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'host.disk',
    reason: 'StateNotWritable',
    handling: { kind: 'backoff' },
    message: `cannot ${verb} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause,
  });
}
