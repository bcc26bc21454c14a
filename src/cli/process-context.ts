/**
 * The real process as a `CommandContext`. The first SIGINT, SIGTERM or SIGHUP asks the command to tidy up and end; a second one,
 * given by an impatient person, ends the process on the spot, which loses nothing that the next start would not find.
 */
import { systemClock } from '../base/clock.ts';
import { type CommandContext, exitStatus, type Output, type StopSignal } from './context.ts';

/**
 * A terminal sends Ctrl-C to the launcher and to us, and the launcher passes its own on: two signals so close together are
 * one wish.
 */
const sameWishMs = 300;

/** 128 and the number of SIGPIPE, as a shell shows it for programs whose reader went away. */
const brokenPipe = 141;

export function processContext(): CommandContext {
  return {
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    writeBytes: (chunk) =>
      new Promise((resolve) => {
        process.stdout.write(chunk, () => resolve());
      }),
    readStdin,
    env: process.env,
    cwd: process.cwd(),
    signal: stopSignal(),
  };
}

/** Resolves once what was written to both streams has left the process, which `process.exit` does not wait for. */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise<void>((done) => stream.write('', () => done()))),
  );
}

function output(stream: NodeJS.WriteStream): Output {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(brokenPipe);
    // A terminal that is gone: its signal ends the command, which still has to tidy up.
    if (error.code === 'EIO' && stream.isTTY) return;
    // A full disk takes words from standard error, and no work has to end for that.
    if (stream === process.stderr) return;
    const advice = 'make room there, or send it elsewhere';
    process.stderr.write(`logfleet: cannot write to standard output: ${error.message}; ${advice}\n`);
    process.exit(exitStatus.failed);
  });
  return {
    write: (text) => {
      stream.write(text);
    },
    isTTY: stream.isTTY === true,
    colour: stream.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb',
    // A terminal that was never told its size says 0.
    columns: () => stream.columns || 80,
    rows: () => stream.rows || 24,
  };
}

async function readStdin(): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece);
  return Buffer.concat(pieces);
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let firstAtMs: number | undefined;
  const onSignal = (signal: StopSignal) => {
    const nowMs = systemClock.monotonic();
    firstAtMs ??= nowMs;
    if (stop.signal.aborted && nowMs - firstAtMs > sameWishMs) process.exit(exitStatus.interrupted);
    stop.abort(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // Of a terminal that was closed: nobody is there to press Ctrl-C.
  process.on('SIGHUP', () => onSignal('SIGTERM'));
  return stop.signal;
}
