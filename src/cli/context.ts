/**
 * Streams, signals and environment of a command. Commands use them instead of Node's `process`, so that a test can replace them
 * and run commands inside its own process.
 *
 * Invariant: results go to `stdout`, progress and logs go to `stderr`. A command never ends the process, but resolves to its exit
 * status.
 */

export interface Output {
  write(text: string): void;
  readonly isTTY: boolean;
  readonly colour: boolean;
  /**
   * Width of the terminal in columns, or 80 if it is unknown. It changes when a user resizes the window, so read it before each
   * use.
   */
  columns(): number;
  /**
   * Height of the terminal in lines, or 24 if it is unknown. It changes when a user resizes the window, so read it before each
   * use.
   */
  rows(): number;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Writes bytes to stdout. Resolves when the stream accepts more bytes; the caller may then reuse the memory of these bytes. */
  writeBytes(chunk: Uint8Array): Promise<void>;
  readStdin(): Promise<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path from which relative file names on the command line are resolved. */
  readonly cwd: string;
  /**
   * Signal that is aborted by SIGINT, SIGTERM or SIGHUP. The command then cleans up and resolves. The reason is a `StopSignal`;
   * SIGHUP counts as SIGTERM.
   */
  readonly signal: AbortSignal;
}

export const exitStatus = {
  ok: 0,
  /** Exit status if something failed or is incomplete, or if a comparison found differences. */
  failed: 1,
  /** Exit status for wrong usage or invalid input. */
  usage: 2,
  /** Exit status after a signal stopped the command. The next start continues from the stored state. */
  interrupted: 130,
} as const;
