/**
 * Everything that a command gets from its process. Tests run commands inside the test process with their own streams
 * and signals.
 *
 * Invariant: results go to `stdout`, progress and logs go to `stderr`. A command never uses `process` and never ends
 * it: the command resolves to its exit status.
 */

/** One of the two output streams. */
export interface Output {
  write(text: string): void;
  /** True for a terminal. A terminal gets a live view, any other output gets lines. */
  readonly isTTY: boolean;
  /** True for a terminal, unless `NO_COLOR` is set. */
  readonly colour: boolean;
  /** Width in columns, or 80 if it is unknown. Read at each call, since a window can be resized. */
  columns(): number;
  /** Height in lines, or 24 if it is unknown. Read at each call. */
  rows(): number;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Writes bytes to stdout. Resolves when the stream takes more bytes; the caller may then reuse the chunk. */
  writeBytes(chunk: Uint8Array): Promise<void>;
  /** Reads standard input to its end, for the file name `-`. */
  readStdin(): Promise<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path from which relative file names on the command line are resolved. */
  readonly cwd: string;
  /**
   * Aborted by SIGINT, SIGTERM or SIGHUP. The reason is the `StopSignal`; SIGHUP counts as SIGTERM. The command then cleans up and
   * resolves.
   */
  readonly signal: AbortSignal;
}

/** The exit statuses of every command. */
export const exitStatus = {
  /** Exit status of a successful command. */
  ok: 0,
  /** Exit status if something failed, is incomplete or differs. */
  failed: 1,
  /** Exit status for wrong usage or invalid input. */
  usage: 2,
  /** Exit status after a signal stopped the command. The next start continues from the stored state. */
  interrupted: 130,
} as const;
