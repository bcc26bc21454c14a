/**
 * Stores files in a directory, such as a mounted volume. A call that completes a file returns only after the file has
 * been flushed to disk. Each call reopens the folders, so the destination still works after the volume has been
 * remounted. Symbolic links in the directory are not followed.
 */
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../base/clock.ts';
import type { Destination, DestinationPorts, FileUpload, LeftoverChoice, ListedObject } from '../store/destination.ts';
import { destinationError, nameTaken } from '../store/destination-error.ts';
import { folderSegments, nameSegments } from '../store/object-name.ts';
import { readObject } from '../store/read-object.ts';
import type { Writer } from '../store/writer.ts';
import { diskError } from './disk-error.ts';
import { Folder, type FolderEntry } from './folder.ts';
import { removeLeftovers } from './leftovers.ts';
import { NewFile } from './new-file.ts';

const readBytes = 256 * 1024;

interface VolumeOptions extends Pick<DestinationPorts, 'clock' | 'writer'> {
  /** Directory of the volume. It must exist, because a missing directory may mean that the volume is not mounted. */
  readonly directory: string;
  /** Root folder in the directory. logfleet creates the folder if it is missing. Empty to use the directory itself. */
  readonly root: string;
}

export class VolumeDestination implements Destination {
  readonly url: string;
  readonly #directory: string;
  readonly #rootSegments: readonly string[];
  readonly #clock: Clock;
  readonly #writer: Writer;

  /** Opens the destination without accessing the disk. Throws the error `destination.name` for an invalid `root`. */
  constructor(options: VolumeOptions) {
    this.#directory = resolve(options.directory);
    this.#rootSegments = folderSegments(options.root);
    this.#clock = options.clock;
    this.#writer = options.writer;
    this.url = pathToFileURL(join(this.#directory, ...this.#rootSegments)).href;
  }

  read(name: string, maxBytes?: number): Promise<Uint8Array | undefined> {
    return readObject(this.stream(name), name, maxBytes);
  }

  async create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
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
    if (!file) throw destinationError('absent', `the file ${name} does not exist in ${this.url}`);
    try {
      const buffer = Buffer.allocUnsafe(readBytes);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, readBytes);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } catch (cause) {
      throw diskError('read', join(this.#directory, ...this.#rootSegments, name), cause);
    } finally {
      await file.close();
    }
  }

  async *list(folderName: string): AsyncIterable<ListedObject> {
    for await (const { folder, entries, prefix } of this.#walk(folderName)) {
      for (const { name, kind } of entries) {
        const found = kind === 'file' && !name.startsWith('.') ? await folder.stat(name) : undefined;
        if (found) yield { name: `${prefix}${name}`, bytes: Number(found.size) };
      }
    }
  }

  async remove(name: string): Promise<void> {
    const { folder, last } = await this.#parent(name);
    if (folder) await thenClose(folder, async () => (await folder.unlink(last)) && folder.sync());
  }

  async abortLeftovers(folderName: string, choice: LeftoverChoice): Promise<number> {
    let removed = 0;
    for await (const { folder, entries } of this.#walk(folderName)) {
      removed += await removeLeftovers(folder, entries, this.#writer, choice);
    }
    return removed;
  }

  async *#walk(folderName: string): AsyncIterable<WalkedFolder> {
    const folder = await this.#enter(folderSegments(folderName));
    if (folder) yield* walk(folder, folderName === '' ? '' : `${folderName}/`);
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

  /** Opens a folder. Returns undefined if it does not exist. */
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
    throw destinationError(
      'missing',
      `the volume's directory ${this.#directory} does not exist: create the directory, or mount the volume there`,
    );
  }
}

interface WalkedFolder {
  readonly folder: Folder;
  readonly entries: readonly FolderEntry[];
  /** Path of the folder relative to the root, with a trailing slash. Empty for the root. */
  readonly prefix: string;
}

/** Yields a folder and all its subfolders. Each folder is closed when the next one is requested. */
async function* walk(folder: Folder, prefix: string): AsyncIterable<WalkedFolder> {
  try {
    const entries = await folder.entries();
    yield { folder, entries, prefix };
    for (const { name, kind } of entries) {
      const inner = kind === 'folder' && !name.startsWith('.') ? await folder.enter(name) : undefined;
      if (inner) yield* walk(inner, `${prefix}${name}/`);
    }
  } finally {
    await folder.close();
  }
}

async function thenClose<T>(folder: Folder, use: (folder: Folder) => Promise<T>): Promise<T> {
  try {
    return await use(folder);
  } finally {
    await folder.close();
  }
}
