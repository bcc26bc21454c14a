/**
 * Writes a file under a temporary name, and then gives it its final name through a hard link. Unlike a rename, a hard
 * link never overwrites a file.
 */
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../../base/clock.ts';
import { systemCode } from '../../base/errors.ts';
import { destinationError } from '../store/destination-error.ts';
import type { Writer } from '../store/writer.ts';
import { diskError } from './disk-error.ts';
import type { Folder } from './folder.ts';
import { heartbeatMs, temporaryName } from './leftovers.ts';

/** Error codes from file systems without hard links. */
const noLinkCodes = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

interface NewFileOptions {
  readonly folder: Folder;
  readonly temporary: string;
  readonly target: string;
  readonly file: FileHandle;
  readonly writer: Writer;
  readonly clock: Clock;
}

export class NewFile {
  readonly #options: NewFileOptions;
  #timer: Timer | undefined;
  #ended = false;

  /** Creates a file with a temporary name. The returned object closes `folder` when it no longer needs the folder. */
  static async begin(folder: Folder, target: string, writer: Writer, clock: Clock): Promise<NewFile> {
    const temporary = temporaryName(writer);
    try {
      return new NewFile({ folder, temporary, target, file: await folder.newFile(temporary), writer, clock });
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  private constructor(options: NewFileOptions) {
    this.#options = options;
    this.#scheduleHeartbeat();
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      let offset = 0;
      while (offset < chunk.length) {
        offset += (await this.#options.file.write(chunk, offset, chunk.length - offset)).bytesWritten;
      }
    } catch (cause) {
      throw this.#error(cause);
    }
  }

  /** Gives the file its final name. Resolves to 'exists' if another file has that name. */
  async place(): Promise<'placed' | 'exists'> {
    try {
      await this.#options.file.sync();
      const placed = await this.#link();
      await this.#options.folder.sync();
      return placed;
    } catch (cause) {
      throw this.#error(cause);
    }
  }

  async #link(): Promise<'placed' | 'exists'> {
    try {
      await this.#options.folder.link(this.#options.temporary, this.#options.target);
      return 'placed';
    } catch (cause) {
      const path = join(this.#options.folder.path, this.#options.target);
      const code = systemCode(cause) ?? '';
      if (code === 'EEXIST') return (await this.#isPlaced()) ? 'placed' : 'exists';
      if (code === 'ENOENT')
        throw destinationError(
          'lost',
          `another process removed ${path} while logfleet was writing it, so logfleet will write it again`,
          cause,
        );
      if (!noLinkCodes.has(code)) throw cause;
      const reason = `cannot give ${path} its final name (${code})`;
      throw destinationError(
        'unsupported',
        `${reason}: logfleet needs a file system with hard links; use another volume, or an object store`,
        cause,
      );
    }
  }

  /** Removes the temporary name, but keeps the final name. */
  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer?.cancel();
    try {
      await this.#options.folder.unlink(this.#options.temporary);
    } catch (error) {
      this.#options.writer.abandon(this.#options.temporary);
      throw error;
    } finally {
      await this.#options.file.close().catch(() => {});
      await this.#options.folder.close().catch(() => {});
    }
  }

  /** Removes the file under both names. */
  async discard(): Promise<void> {
    if (this.#ended) return;
    try {
      if (await this.#isPlaced()) await this.#options.folder.unlink(this.#options.target);
    } catch (cause) {
      throw this.#error(cause);
    } finally {
      await this.end();
    }
  }

  async #isPlaced(): Promise<boolean> {
    const [ours, existing] = await Promise.all([
      this.#options.file.stat({ bigint: true }),
      this.#options.folder.stat(this.#options.target),
    ]);
    return existing?.ino === ours.ino && existing.dev === ours.dev;
  }

  #error(cause: unknown): Error {
    return diskError('write', join(this.#options.folder.path, this.#options.target), cause);
  }

  /** Updates the file's change time regularly, to show other processes that the file's writer is alive. */
  #scheduleHeartbeat(): void {
    this.#timer = this.#options.clock.after(heartbeatMs, () => {
      const nowSeconds = this.#options.clock.now() / 1000;
      void this.#options.file.utimes(nowSeconds, nowSeconds).catch(() => {});
      this.#scheduleHeartbeat();
    });
  }
}
