/**
 * Port for the destination of an export's files: a directory (`volume/`) or an object store (`s3/`).
 *
 * The commit protocol (E2, E3) depends on two guarantees. `create` never overwrites: of all processes that create a name, exactly
 * one gets 'created'. And an uploaded file appears under its name completely or not at all.
 *
 * Names are relative to the root of the destination and follow `object-name.ts`. Neither a name nor a symbolic link can lead out of
 * the root. Every failure is a `LogfleetError` of `destination-error.ts`. The meaning of the files is defined in
 * `export-layout.ts`.
 */

/** Maximum size of plans and commit records in bytes. */
export const largestObjectBytes = 32 * 1024 * 1024;
/**
 * Maximum size of a manifest in bytes. It is read and written as a whole, and takes several times its size in memory. An interval
 * takes about half a kilobyte.
 */
export const largestManifestBytes = 128 * 1024 * 1024;

/**
 * Time in ms without data after which `abortLeftovers` considers the writer of an upload dead, if its process cannot be checked
 * (E15).
 */
export const longestSilenceMs = 15 * 60_000;

export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Unfinished uploads to remove.
 * - `ofTheDead`: those of processes that have ended, and those of this process that could not be removed before.
 * - `all`: also those of running processes. Used for a folder that needs no more files.
 */
export type LeftoverChoice = 'ofTheDead' | 'all';

export interface Destination {
  /** Address of the destination for people, such as `file:///exports/logging` or `s3://bucket/prefix`. It contains no credentials. */
  readonly url: string;

  /**
   * Reads a small object completely. Returns undefined if it does not exist. Throws `destination.damaged` if it is larger than
   * `mostBytes`, by default `largestObjectBytes`.
   */
  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined>;

  /**
   * Writes a small object unless its name exists. When the call returns, the object with this name is durable. If the answer to an earlier
   * attempt was lost, the result 'exists' can mean our own object; the caller must then read the object to decide (E3). `mostBytes` is as
   * in `read`.
   */
  create(name: string, content: Uint8Array, mostBytes?: number): Promise<'created' | 'exists'>;

  /** Begins a data file with a unique name. The file becomes visible only after `finish`. An upload uses a fixed amount of memory. */
  open(name: string): Promise<FileUpload>;

  /** Reads a file in chunks, each valid until the next one. Throws `destination.absent` if the file does not exist. */
  stream(name: string): AsyncIterable<Uint8Array>;

  /**
   * Lists the files in a folder and its subfolders, in no particular order and without running uploads. The folder has no trailing
   * slash; empty means the root.
   */
  list(folder: string): AsyncIterable<ListedObject>;

  /** Removes a file from the destination. Succeeds if the file does not exist. */
  remove(name: string): Promise<void>;

  /**
   * Removes unfinished uploads in a folder and its subfolders, also of other processes (E15), and returns their number. If an
   * upload was still running, it fails with `destination.lost`, and its interval is searched again, so no data is lost.
   */
  abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number>;

  /** Releases the destination's connections and memory. All uploads must be finished or aborted before. */
  close(): Promise<void>;
}

/** Upload of one file. Calls must not overlap. After a failure only `abort` is allowed. */
export interface FileUpload {
  /** Resolves when the next chunk can be written. The memory of the chunk can then be reused. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when the file is durable and visible under its name. */
  finish(): Promise<void>;
  /** Removes all data of the upload, even after a failed `finish`. After a successful `finish`, `abort` has no effect. */
  abort(): Promise<void>;
}
