/**
 * What a command gets from the process around it, so that tests run commands in process with streams and signals of their own.
 *
 * Invariant: results go to `stdout`, progress and logs to `stderr`; a command never looks at `process` itself and never ends
 * it: it resolves to its exit status.
 */

/** One of the two output streams. */
export interface Output {
  write(text: string): void;
  /** A terminal gets a live view, anything else gets lines. */
  readonly isTTY: boolean;
  /** Whether to colour: a terminal, without `NO_COLOR`. */
  readonly colour: boolean;
  /** Width in columns, read anew each time since a window can be resized; 80 where nobody knows. */
  columns(): number;
  /** Height in lines, read anew each time; 24 where nobody knows. */
  rows(): number;
}

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Bytes to stdout; resolves when there is room for more, and the chunk is the caller's again. */
  writeBytes(chunk: Uint8Array): Promise<void>;
  /** All bytes of standard input, for the file name `-`, or the text that they stand for. */
  readStdin(): Promise<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute; relative file names on the command line are meant from here. */
  readonly cwd: string;
  /** Aborted by SIGINT and SIGTERM, with the `StopSignal` as its reason (SIGHUP counts as SIGTERM). The command then tidies up and resolves. */
  readonly signal: AbortSignal;
}

/** The exit statuses of every command. */
export const exitStatus = {
  /** All is well. */
  ok: 0,
  /** Something ended failed, incomplete or different. */
  failed: 1,
  /** Wrong usage or invalid input. */
  usage: 2,
  /** Stopped by a signal before the end, with everything left so that the next start goes on. */
  interrupted: 130,
} as const;
