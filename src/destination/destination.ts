/**
 * Interface to the destination of an export's files: a directory or an object store.
 *
 * Two guarantees protect files of other processes (E2, E3): if several processes create an object with the same name, exactly one of them
 * succeeds, and an uploaded file appears under its name either completely or not at all.
 *
 * Object names are relative to the root of the destination. Neither a name nor a symbolic link can lead out of the root.
 */
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/proxy-environment.ts';
import type { Writer } from './writer.ts';

export interface DestinationPorts {
  readonly clock: Clock;
  /**
   * Identity of this process, which marks its uploads. Another process can then recognize and remove uploads that this process left
   * unfinished (E15).
   */
  readonly writer: Writer;
  /** Environment variables. Only proxy settings (`HTTPS_PROXY`, `NO_PROXY`) and Azure's credentials (`AZURE_STORAGE_*`) are used. */
  readonly environment: Environment;
}

/** Maximum size in bytes of export plans and commit records. */
export const largestObjectBytes = 32 * 1024 * 1024;
/**
 * Maximum size of a manifest in bytes. A manifest takes about half a kilobyte for each interval. It is read and written as a whole, which
 * takes several times its size in memory.
 */
export const largestManifestBytes = 128 * 1024 * 1024;

/** Time in ms without new data after which an upload counts as abandoned, if logfleet cannot check the process that sends it (E15). */
export const longestSilenceMs = 15 * 60_000;

export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Unfinished uploads to remove: `ofTheDead` means uploads of processes that have ended. `all` also includes uploads of running processes.
 */
export type LeftoverChoice = 'ofTheDead' | 'all';

/** `temporary`: the file is removed soon, so the store must not lock it. */
export type FileLifetime = 'permanent' | 'temporary';

export interface Destination {
  /**
   * Address of the destination as shown to users, such as `file:///exports/logging`, `s3://bucket/prefix`, `gs://bucket/prefix` or
   * `https://account.blob.core.windows.net/container/prefix`. It contains no credentials.
   */
  readonly url: string;

  /**
   * Reads a small object completely. Returns undefined if it does not exist. Throws `destination.damaged` if it is larger than
   * `mostBytes`, by default `largestObjectBytes`.
   */
  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined>;

  /**
   * Writes a small object unless an object of this name exists. When the call returns, the object with this name is durable. If an earlier
   * call failed without an answer, 'exists' can mean that this earlier call created the object (E3). `mostBytes` is the maximum size of the
   * object.
   */
  create(name: string, content: Uint8Array, mostBytes?: number): Promise<'created' | 'exists'>;

  /** Begins to upload a data file with a unique name. The file becomes visible only when `FileUpload.finish` succeeds. */
  open(name: string, lifetime?: FileLifetime): Promise<FileUpload>;

  /** Reads a file in chunks. Each chunk is valid only until the next one is requested. Throws `destination.absent` if the file does not exist. */
  stream(name: string): AsyncIterable<Uint8Array>;

  /**
   * Lists the files in a folder and its subfolders, in no particular order. Unfinished uploads are not listed. The name of the folder has
   * no trailing slash, and is empty for the root.
   */
  list(folder: string): AsyncIterable<ListedObject>;

  /** Removes a file from the destination. Does nothing if the file does not exist, or if it is one of `lockedFiles`. */
  remove(name: string): Promise<void>;

  /** Names of files that `remove` could not remove, because the store keeps them locked. Undefined for stores without locks. */
  readonly lockedFiles?: ReadonlySet<string>;

  /**
   * Removes unfinished uploads in a folder and its subfolders, and returns their number (E15). If the process of an upload still runs, it
   * gets the error `destination.lost` and repeats its search.
   */
  abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number>;

  /** Releases the destination's connections and memory. All uploads must have been finished or aborted. */
  close(): Promise<void>;
}

/** Upload of one file. Calls must not overlap. After a failure only `abort` is allowed. */
export interface FileUpload {
  /** Writes a chunk. When the promise resolves, the memory of the chunk can be reused, and the next chunk can be written. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends the file. When the promise resolves, the file is durable and visible under its name. */
  finish(): Promise<void>;
  /** Removes all data of the upload, even after a failed `finish`. After a successful `finish`, `abort` has no effect. */
  abort(): Promise<void>;
}
