/**
 * A folder that is held open, so that what happens in it happens in it: somebody who swaps a folder for a symbolic link
 * meanwhile leads nobody outside.
 *
 * Node has no `openat`. On Linux `/proc/self/fd/N/NAME` is the same: it goes from the open folder, not from a path. Elsewhere
 * paths are used; links are found there as well, and only a swap in the same instant would not be.
 *
 * Invariant: no call follows a symbolic link in a name that it was given.
 */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { destinationError } from '../destination-error.ts';
import { codeOf, diskError } from './disk-error.ts';

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY;
// A pipe that somebody put there must not hold us up.
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const newFileFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const folderMode = 0o750;
const fileMode = 0o640;

export interface FolderEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'other';
}

export class Folder {
  /** For messages. */
  readonly path: string;
  readonly #handle: FileHandle;
  /** What a name in this folder is appended to. */
  readonly #base: string;

  private constructor(path: string, handle: FileHandle, base: string) {
    this.path = path;
    this.#handle = handle;
    this.#base = base;
  }

  /** The folder that a person named, who may have named a link. Undefined when there is none. */
  static async openRoot(path: string): Promise<Folder | undefined> {
    try {
      return await Folder.#held(path, await open(path, folderFlags));
    } catch (cause) {
      if (isAbsent(cause)) return undefined;
      throw diskError('open', path, cause);
    }
  }

  static async #held(path: string, handle: FileHandle): Promise<Folder> {
    const base = `/proc/self/fd/${handle.fd}`;
    const viaHandle = await lstat(`${base}/.`).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return new Folder(path, handle, viaHandle ? base : path);
  }

  /** A folder in this one; undefined when there is none. `destination.outside` when it is a link. */
  async enter(name: string): Promise<Folder | undefined> {
    try {
      return await Folder.#held(join(this.path, name), await open(this.#at(name), folderFlags | constants.O_NOFOLLOW));
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined;
      await this.#refuseLink(name);
      if (codeOf(cause) === 'ENOTDIR') return undefined;
      throw diskError('open', join(this.path, name), cause);
    }
  }

  /** A folder in this one, made where it is missing; its entry is on the disk before anything is put into it. */
  async enterOrMake(name: string): Promise<Folder> {
    const path = join(this.path, name);
    try {
      await mkdir(this.#at(name), { mode: folderMode });
      await this.sync();
    } catch (cause) {
      if (codeOf(cause) !== 'EEXIST') throw diskError('make', path, cause);
    }
    const folder = await this.enter(name);
    if (!folder) throw destinationError('damaged', `${path} is no folder: move it away, and the export goes on`);
    return folder;
  }

  /** Undefined when there is no such file. `destination.outside` for a link, `destination.damaged` for what is no file. */
  async openFile(name: string): Promise<FileHandle | undefined> {
    const path = join(this.path, name);
    let file: FileHandle;
    try {
      file = await open(this.#at(name), readFlags);
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined;
      await this.#refuseLink(name);
      throw diskError('read', path, cause);
    }
    try {
      if ((await file.stat()).isFile()) return file;
    } catch (cause) {
      await file.close();
      throw diskError('read', path, cause);
    }
    await file.close();
    throw destinationError('damaged', `${path} is no file: move it away, and the export goes on`);
  }

  /** Raw errors of the file system. */
  newFile(name: string): Promise<FileHandle> {
    return open(this.#at(name), newFileFlags, fileMode);
  }

  /** A second name for a file of this folder; EEXIST where that is taken, also by a link. */
  link(from: string, to: string): Promise<void> {
    return link(this.#at(from), this.#at(to));
  }

  /** Without following a link, in numbers that hold 64 bits, as inodes do. Undefined when there is nothing. */
  async stat(name: string): Promise<BigIntStats | undefined> {
    try {
      return await lstat(this.#at(name), { bigint: true });
    } catch (cause) {
      if (isAbsent(cause)) return undefined;
      throw cause;
    }
  }

  /** Whether there was one. */
  async unlink(name: string): Promise<boolean> {
    try {
      await unlink(this.#at(name));
      return true;
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw cause;
    }
  }

  async entries(): Promise<readonly FolderEntry[]> {
    try {
      const entries = await readdir(this.#at('.'), { withFileTypes: true });
      return entries.map((entry) => ({
        name: entry.name,
        kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other',
      }));
    } catch (cause) {
      throw diskError('list', this.path, cause);
    }
  }

  /** A new name is on the disk once its folder is. Some file systems cannot flush folders: there it is as safe as it gets. */
  async sync(): Promise<void> {
    try {
      await this.#handle.sync();
    } catch (error) {
      if (!['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'].includes(codeOf(error) ?? '')) throw error;
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #at(name: string): string {
    return `${this.#base}/${name}`;
  }

  async #refuseLink(name: string): Promise<void> {
    const found = await this.stat(name).catch(() => undefined);
    if (!found?.isSymbolicLink()) return;
    const path = join(this.path, name);
    throw destinationError(
      'outside',
      `${path} is a symbolic link, which logfleet does not follow: put the folder or file itself there`,
    );
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}
