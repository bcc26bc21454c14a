/**
 * Destination in a directory: a mounted volume, or any folder.
 *
 * Each call opens the folders from the root down, one by one and without following symbolic links. No folder stays open between calls, so a
 * volume that was mounted again is found. Durable means flushed to disk, including the folders.
 */
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import {
  type Destination,
  type FileUpload,
  type LeftoverChoice,
  type ListedObject,
  largestObjectBytes,
} from '../destination.ts';
import { destinationError, nameTaken, tooLarge } from '../destination-error.ts';
import { folderSegments, nameSegments } from '../object-name.ts';
import { Writer } from '../writer.ts';
import { diskError } from './disk-error.ts';
import { Folder } from './folder.ts';
import { removeLeftovers } from './leftovers.ts';
import { NewFile } from './new-file.ts';

const readBytes = 256 * 1024;

export interface VolumeOptions {
  /** Directory of the volume. It must exist, so that a missing mount is not mistaken for an empty volume. */
  readonly directory: string;
  /**
   * Name of the root folder in the directory. The folder is created if it is missing. If the name is empty, the directory itself is the
   * root.
   */
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
}

export class VolumeDestination implements Destination {
  readonly url: string;
  readonly #directory: string;
  readonly #rootSegments: readonly string[];
  readonly #clock: Clock;
  readonly #writer: Writer;

  /** Opens the destination without touching the disk. Throws `destination.name` if `root` is not a valid name. */
  static async open(options: VolumeOptions): Promise<VolumeDestination> {
    const rootSegments = folderSegments(options.root);
    return new VolumeDestination(options, rootSegments, await Writer.ours(options.random));
  }

  private constructor(options: VolumeOptions, rootSegments: readonly string[], writer: Writer) {
    this.#directory = resolve(options.directory);
    this.#rootSegments = rootSegments;
    this.#clock = options.clock;
    this.#writer = writer;
    this.url = pathToFileURL(join(this.#directory, ...rootSegments)).href;
  }

  async read(name: string, mostBytes = largestObjectBytes): Promise<Uint8Array | undefined> {
    const file = await this.#openFile(name);
    if (!file) return undefined;
    try {
      const { size } = await file.stat();
      if (size > mostBytes) throw tooLarge(name, String(size), mostBytes);
      return await file.readFile();
    } catch (cause) {
      throw this.#asError('read', name, cause);
    } finally {
      await file.close();
    }
  }

  async create(name: string, content: Uint8Array, mostBytes = largestObjectBytes): Promise<'created' | 'exists'> {
    if (content.length > mostBytes) throw tooLarge(name, String(content.length), mostBytes);
    const file = await this.#newFile(name);
    try {
      await file.write(content);
      return (await file.place()) === 'placed' ? 'created' : 'exists';
    } finally {
      await file.end();
    }
  }

  async open(name: string): Promise<FileUpload> {
    const file = await this.#newFile(name);
    return {
      write: (chunk) => file.write(chunk),
      finish: async () => {
        if ((await file.place()) === 'exists') throw nameTaken(name);
        await file.end();
      },
      abort: () => file.discard(),
    };
  }

  async *stream(name: string): AsyncIterable<Uint8Array> {
    const file = await this.#openFile(name);
    if (!file) throw destinationError('absent', `there is no file ${name} in ${this.url}`);
    try {
      const buffer = Buffer.allocUnsafe(readBytes);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, readBytes);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } catch (cause) {
      throw this.#asError('read', name, cause);
    } finally {
      await file.close();
    }
  }

  async *list(folderName: string): AsyncIterable<ListedObject> {
    const folder = await this.#enter(folderSegments(folderName));
    if (folder) yield* this.#listIn(folder, folderName === '' ? '' : `${folderName}/`);
  }

  async *#listIn(folder: Folder, prefix: string): AsyncIterable<ListedObject> {
    try {
      for (const { name, kind } of await folder.entries()) {
        if (name.startsWith('.')) continue;
        if (kind === 'folder') {
          const inner = await folder.enter(name);
          if (inner) yield* this.#listIn(inner, `${prefix}${name}/`);
        } else if (kind === 'file') {
          const found = await folder.stat(name);
          if (found) yield { name: `${prefix}${name}`, bytes: Number(found.size) };
        }
      }
    } catch (cause) {
      throw this.#asError('list', prefix, cause);
    } finally {
      await folder.close();
    }
  }

  async remove(name: string): Promise<void> {
    const { folder, last } = await this.#parent(name);
    if (!folder) return;
    try {
      if (await folder.unlink(last)) await folder.sync();
    } catch (cause) {
      throw this.#asError('remove', name, cause);
    } finally {
      await folder.close();
    }
  }

  async abortLeftovers(folderName: string, choice: LeftoverChoice): Promise<number> {
    const folder = await this.#enter(folderSegments(folderName));
    return folder ? this.#removeLeftovers(folder, folderName, choice) : 0;
  }

  async #removeLeftovers(folder: Folder, name: string, choice: LeftoverChoice): Promise<number> {
    try {
      let removed = await removeLeftovers(folder, this.#writer, choice);
      for (const entry of await folder.entries()) {
        const inner =
          entry.kind === 'folder' && !entry.name.startsWith('.') ? await folder.enter(entry.name) : undefined;
        if (inner) removed += await this.#removeLeftovers(inner, `${name}/${entry.name}`, choice);
      }
      return removed;
    } catch (cause) {
      throw this.#asError('look for unfinished files in', name, cause);
    } finally {
      await folder.close();
    }
  }

  async close(): Promise<void> {}

  async #newFile(name: string): Promise<NewFile> {
    const segments = nameSegments(name);
    let folder = await this.#openDirectory();
    for (const segment of [...this.#rootSegments, ...segments.slice(0, -1)]) {
      folder = await thenClose(folder, (outer) => outer.enterOrMake(segment));
    }
    return NewFile.begin(folder, segments.at(-1) ?? '', this.#writer, this.#clock);
  }

  async #openFile(name: string): Promise<FileHandle | undefined> {
    const { folder, last } = await this.#parent(name);
    return folder && thenClose(folder, (parent) => parent.openFile(last));
  }

  async #parent(name: string): Promise<{ readonly folder: Folder | undefined; readonly last: string }> {
    const segments = nameSegments(name);
    return { folder: await this.#enter(segments.slice(0, -1)), last: segments.at(-1) ?? '' };
  }

  /** Opens a folder below the destination's root. Returns undefined if the folder does not exist. */
  async #enter(segments: readonly string[]): Promise<Folder | undefined> {
    let folder: Folder | undefined = await this.#openDirectory();
    for (const segment of [...this.#rootSegments, ...segments]) {
      folder = folder && (await thenClose(folder, (outer) => outer.enter(segment)));
    }
    return folder;
  }

  async #openDirectory(): Promise<Folder> {
    const folder = await Folder.openRoot(this.#directory);
    if (folder) return folder;
    throw destinationError('missing', `there is no directory ${this.#directory}: make it, or mount the volume there`);
  }

  #asError(act: string, name: string, cause: unknown): Error {
    if (cause instanceof LogfleetError) return cause;
    return diskError(act, join(this.#directory, ...this.#rootSegments, name), cause);
  }
}

async function thenClose<T>(folder: Folder, use: (folder: Folder) => Promise<T>): Promise<T> {
  try {
    return await use(folder);
  } finally {
    await folder.close();
  }
}
