/**
 * Where the files of an export go, as a port: a directory (`volume/`) or an object store (`s3/`) behind it.
 *
 * The commit protocol (E2, E3) leans on two promises. `create` never overwrites: of all who create a name, one is told
 * 'created', whatever they write and wherever they run. And an uploaded file is seen under its name as a whole or not at all.
 *
 * Names are relative to the root of the destination and hold to `object-name.ts`; nothing that a name or a symbolic link says
 * leads outside the root. Every failure is a `LogfleetError` of `destination-error.ts`. What the files mean is told elsewhere
 * (`export-layout.ts`).
 */

/** Plans and commit records are smaller. */
export const largestObjectBytes = 32 * 1024 * 1024;
/** A manifest is written and read as a whole, and takes several times its size in memory. Half a kilobyte an interval, mostly. */
export const largestManifestBytes = 128 * 1024 * 1024;

/** So long an upload is silent at most until `abortLeftovers` takes its writer for dead, wherever that ran (E15). */
export const longestSilenceMs = 15 * 60_000;

export interface ListedObject {
  readonly name: string;
  readonly bytes: number;
}

/**
 * `ofTheDead`: what processes left that have ended, as far as can be known, and what we could not take back ourselves. `all`: those of
 * the living, too, for a folder that needs no more files.
 */
export type LeftoverChoice = 'ofTheDead' | 'all';

export interface Destination {
  /** For people: `file:///exports/logging`, `s3://bucket/prefix`. Holds no credentials. */
  readonly url: string;

  /**
   * The whole of a small object; undefined when there is none. Larger than `mostBytes` (`largestObjectBytes` where absent):
   * `destination.damaged`.
   */
  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined>;

  /**
   * Writes a small object unless there is one of that name. Whatever it resolves to, what stands under the name is durable.
   * 'exists' may be our own doing, where the answer to an earlier try was lost: read what stands there (E3). `mostBytes` is as of `read`.
   */
  create(name: string, content: Uint8Array, mostBytes?: number): Promise<'created' | 'exists'>;

  /**
   * Begins a data file under a name that nobody else uses. It is seen after `finish` alone. An upload holds a fixed amount of
   * memory, however large its file.
   */
  open(name: string): Promise<FileUpload>;

  /** The bytes of a file in pieces that are valid until the next one is asked for. No such file: `destination.absent`. */
  stream(name: string): AsyncIterable<Uint8Array>;

  /** What lies in a folder (without a slash at its end; empty: the root) and below it, in no order; no uploads that still run. */
  list(folder: string): AsyncIterable<ListedObject>;

  /** Fine when there is none. */
  remove(name: string): Promise<void>;

  /**
   * Removes what uploads left in a folder and below it that never finished, also those of other processes (E15), and says how
   * many. One that still ran fails with `destination.lost`, and its interval is searched again: nothing is lost by a mistake.
   */
  abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number>;

  /** Gives back connections and memory. Uploads have to be finished or aborted before. */
  close(): Promise<void>;
}

/** One call at a time; nothing after a failure but `abort`. */
export interface FileUpload {
  /** Resolves when there is room for more. The chunk is the caller's again then. */
  write(chunk: Uint8Array): Promise<void>;
  /** Resolves when the file is durable and can be seen under its name. */
  finish(): Promise<void>;
  /** Nothing of the upload stays, whatever came of a `finish` that failed. Does nothing after one that resolved. */
  abort(): Promise<void>;
}
