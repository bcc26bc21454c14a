/**
 * Interface to the directory or object store to which an export writes.
 *
 * If several processes create the same object, exactly one succeeds (E2, E3). A file becomes visible only when it is
 * complete. Names are relative to the root of the destination and cannot lead outside it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Environment } from '../../base/proxy-environment.ts';
import type { Writer } from './writer.ts';

export interface DestinationPorts {
  readonly clock: Clock;
  /**
   * Identity of this process. It is part of the names of unfinished uploads, and shows which process writes them (E15).
   */
  readonly writer: Writer;
  /** Environment variables for proxies (`HTTPS_PROXY`, `NO_PROXY`) and Azure credentials (`AZURE_STORAGE_*`). */
  readonly environment: Environment;
}

/** Maximum size in bytes of export plans and commit records. */
export const largestObjectBytes = 32 * 1024 * 1024;
/** Maximum size of a manifest in bytes. logfleet keeps the whole manifest in memory. */
export const largestManifestBytes = 128 * 1024 * 1024;

/** An upload counts as abandoned after this time in ms without new data (E15). */
export const longestSilenceMs = 15 * 60_000;

export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
}

/** Which unfinished uploads to remove: those of processes that have ended (`endedProcesses`), or all (`all`). */
export type LeftoverChoice = 'endedProcesses' | 'all';

/** How long a file is kept. The store must not lock a `temporary` file, because logfleet will soon remove it. */
export type FileLifetime = 'permanent' | 'temporary';

export interface Destination {
  /** User-facing URL, such as `s3://bucket/prefix` or `file:///exports/logging`. Contains no credentials. */
  readonly url: string;

  /**
   * Reads a whole object. Returns undefined if it does not exist. Throws the error `destination.damaged` if it is too
   * large.
   */
  read(name: string, maxBytes?: number): Promise<Uint8Array | undefined>;

  /**
   * Writes a small object, unless an object with this name exists. If the response to a first call was lost, a second
   * call may return 'exists', because the first call created the object (E3).
   */
  create(name: string, content: Uint8Array): Promise<'created' | 'exists'>;

  /** Starts uploading a data file. The file becomes visible when `FileUpload.finish` succeeds. */
  open(name: string, lifetime?: FileLifetime): Promise<FileUpload>;

  /**
   * Reads a file in chunks. A chunk is valid until the next one is requested. Throws the error `destination.absent` if
   * the file does not exist.
   */
  stream(name: string): AsyncIterable<Uint8Array>;

  /** Lists the files in a folder and its subfolders. `folder` has no trailing slash, and is empty for the root. */
  list(folder: string): AsyncIterable<ListedObject>;

  /** Removes a file. Does nothing if the file does not exist or is locked. */
  remove(name: string): Promise<void>;

  /** Locked files that the store refused to remove. */
  readonly lockedFiles?: ReadonlySet<string>;

  /** Removes unfinished uploads in a folder and its subfolders, and returns the number of removed uploads (E15). */
  abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number>;

  /** Closes all connections. The caller must finish or abort all uploads first. */
  close(): Promise<void>;
}

/** Upload of one file. Calls must not overlap. After a failure, only `abort` may be called. */
export interface FileUpload {
  /** Writes a chunk. The caller may reuse the chunk's memory after the promise resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Completes the file. When the promise resolves, the file is durable and visible. */
  finish(): Promise<void>;
  /** Removes all data uploaded for the file. Does nothing after a successful `finish`. */
  abort(): Promise<void>;
}
