/**
 * An open folder for file operations. The operations use the opened folder, even if a symbolic link later replaces it
 * at its path. Node.js has no `openat`. On Linux, paths therefore begin with `/proc/self/fd/N`. On other systems,
 * normal paths are used, without this protection.
 */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isFileAbsent, isSyncUnsupported, systemCode } from '../../base/errors.ts';
import { destinationError } from '../store/destination-error.ts';
import { diskError } from './disk-error.ts';

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY;
// With `O_NONBLOCK`, the process does not hang if the file is a named pipe.
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const newFileFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const folderMode = 0o750;
const fileMode = 0o640;

/** True if `/proc/self/fd` exists. Undefined until the first folder is opened. */
let hasFolderPaths: Promise<boolean> | undefined;

export interface FolderEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'other';
}

export class Folder {
  /** Path of the folder, for messages. */
  readonly path: string;
  readonly #handle: FileHandle;
  /** Path of the folder for file operations: `/proc/self/fd/N` on Linux, and the real path elsewhere. */
  readonly #base: string;

  private constructor(path: string, handle: FileHandle, base: string) {
    this.path = path;
    this.#handle = handle;
    this.#base = base;
  }

  /**
   * Opens the folder that the settings name. This folder may be a symbolic link. Returns undefined if it does not
   * exist.
   */
  static async openRoot(path: string): Promise<Folder | undefined> {
    try {
      return await Folder.#held(path, await open(path, folderFlags));
    } catch (cause) {
      if (isFileAbsent(cause)) return undefined;
      throw diskError('open', path, cause);
    }
  }

  static async #held(path: string, handle: FileHandle): Promise<Folder> {
    const base = `/proc/self/fd/${handle.fd}`;
    hasFolderPaths ??= lstat(`${base}/.`).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return new Folder(path, handle, (await hasFolderPaths) ? base : path);
  }

  /**
   * Opens a subfolder. Returns undefined if it does not exist. Throws the error `destination.outside` if it is a
   * symbolic link.
   */
  async enter(name: string): Promise<Folder | undefined> {
    try {
      return await Folder.#held(join(this.path, name), await open(this.#at(name), folderFlags | constants.O_NOFOLLOW));
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT') return undefined;
      await this.#refuseLink(name);
      if (systemCode(cause) === 'ENOTDIR') return undefined;
      throw diskError('open', join(this.path, name), cause);
    }
  }

  /** Opens a subfolder, creating it durably if it does not exist. */
  async enterOrMake(name: string): Promise<Folder> {
    const path = join(this.path, name);
    const existing = await this.enter(name);
    if (existing) return existing;
    try {
      await mkdir(this.#at(name), { mode: folderMode });
      await this.sync();
    } catch (cause) {
      if (systemCode(cause) !== 'EEXIST') throw diskError('make', path, cause);
    }
    const folder = await this.enter(name);
    if (!folder) throw destinationError('damaged', `${path} is not a folder: move it away to continue the export`);
    return folder;
  }

  /**
   * Opens a file. Returns undefined if it does not exist. Throws the error `destination.outside` for a symbolic link,
   * and `destination.damaged` if it is not a regular file.
   */
  async openFile(name: string): Promise<FileHandle | undefined> {
    const path = join(this.path, name);
    let file: FileHandle;
    try {
      file = await open(this.#at(name), readFlags);
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT') return undefined;
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
    throw destinationError('damaged', `${path} is not a regular file: move it away to continue the export`);
  }

  async newFile(name: string): Promise<FileHandle> {
    try {
      return await open(this.#at(name), newFileFlags, fileMode);
    } catch (cause) {
      throw diskError('write', join(this.path, name), cause);
    }
  }

  /** Creates a hard link. Throws file system errors, such as EEXIST, unchanged. */
  link(from: string, to: string): Promise<void> {
    return link(this.#at(from), this.#at(to));
  }

  /** Returns a file's metadata (`lstat`), or undefined if the file does not exist. Does not follow symbolic links. */
  async stat(name: string): Promise<BigIntStats | undefined> {
    try {
      return await lstat(this.#at(name), { bigint: true });
    } catch (cause) {
      if (isFileAbsent(cause)) return undefined;
      throw diskError('read', join(this.path, name), cause);
    }
  }

  /** Removes a file. Reports whether it existed. */
  async unlink(name: string): Promise<boolean> {
    try {
      await unlink(this.#at(name));
      return true;
    } catch (cause) {
      if (isFileAbsent(cause)) return false;
      throw diskError('remove', join(this.path, name), cause);
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

  /** Flushes the folder to disk, so that new file names are durable. */
  async sync(): Promise<void> {
    try {
      await this.#handle.sync();
    } catch (cause) {
      if (isSyncUnsupported(cause)) return;
      throw diskError('write', this.path, cause);
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
      `${path} is a symbolic link, which logfleet does not follow: replace the link with the folder or file itself`,
    );
  }
}
