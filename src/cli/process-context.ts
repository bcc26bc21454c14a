/**
 * Implements `CommandContext` with the real streams, environment and signals of the process. After the first signal,
 * the command cleans up and ends. A second signal ends the process immediately, without loss of stored state.
 */
import { addAbortSignal } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import { type CommandContext, exitStatus, type Output, type StopSignal, showCursor } from './command/context.ts';

/**
 * Two signals within this time in ms count as one. Ctrl-C can send two signals to this process: from the terminal, and
 * from `bin/logfleet.js`.
 */
const sameWishMs = 300;

/** Exit status if the program that reads stdout has closed the pipe: 128 plus the signal number of SIGPIPE. */
const brokenPipe = 141;

export function processContext(): CommandContext {
  const signal = stopSignal();
  return {
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    writeBytes: (chunk) =>
      new Promise((resolve) => {
        process.stdout.write(chunk, () => resolve());
      }),
    readStdin: async () => {
      const { buffer } = await import('node:stream/consumers');
      return buffer(addAbortSignal(signal, process.stdin));
    },
    env: process.env,
    cwd: process.cwd(),
    signal,
  };
}

/** Resolves when all output is written. Call it before `process.exit`, which discards unwritten output. */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise<void>((done) => stream.write('', () => done()))),
  );
}

function output(stream: NodeJS.WriteStream): Output {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(brokenPipe);
    // EIO on a terminal means that the terminal was closed. The error is ignored, because the signal SIGHUP ends the
    // command.
    if (error.code === 'EIO' && stream.isTTY) return;
    // If the command cannot write to stderr, it continues without error output.
    if (stream === process.stderr) return;
    process.stderr.write(
      `logfleet: cannot write to standard output: ${error.message}; free space, or redirect the output\n`,
    );
    process.exit(exitStatus.failed);
  });
  return {
    write: (text) => {
      stream.write(text);
    },
    isTTY: stream.isTTY === true,
    colour: stream.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb',
    // Node reports 0 columns if the size of the terminal is unknown. In that case, 80 columns are assumed.
    columns: () => stream.columns || 80,
    rows: () => stream.rows || 24,
  };
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let firstAtMs: number | undefined;
  const onSignal = (signal: StopSignal) => {
    const nowMs = systemClock.monotonic();
    firstAtMs ??= nowMs;
    if (stop.signal.aborted && nowMs - firstAtMs > sameWishMs) {
      for (const stream of [process.stdout, process.stderr]) if (stream.isTTY) stream.write(showCursor);
      process.exit(exitStatus.interrupted);
    }
    stop.abort(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', () => onSignal('SIGTERM'));
  return stop.signal;
}
