/**
 * Streams, signals and environment of a command. Tests can replace them.
 *
 * Results go to `stdout`, progress and logs to `stderr`. A command resolves to its exit status and never ends the
 * process.
 */

export interface Output {
  write(text: string): void;
  readonly isTTY: boolean;
  readonly colour: boolean;
  /** Current width of the terminal in columns, or 80 if unknown. */
  columns(): number;
  /** Current height of the terminal in lines, or 24 if unknown. */
  rows(): number;
}

/** Control sequence that shows the cursor of a terminal again after a live view has hidden it. */
export const showCursor = '\u001b[?25h';

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Writes bytes to stdout. When the promise resolves, the caller may reuse the memory of `chunk`. */
  writeBytes(chunk: Uint8Array): Promise<void>;
  readStdin(): Promise<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the working directory, to which file names are relative. */
  readonly cwd: string;
  /**
   * Aborted on SIGINT, SIGTERM or SIGHUP. The command then cleans up and resolves. The abort reason is a `StopSignal`.
   */
  readonly signal: AbortSignal;
}

export const exitStatus = {
  ok: 0,
  /** Exit status if something failed or is incomplete, or if a comparison found differences. */
  failed: 1,
  /** Exit status for wrong usage or invalid input. */
  usage: 2,
  /** Exit status after a signal. The next start of the command continues from the stored state. */
  interrupted: 130,
} as const;
