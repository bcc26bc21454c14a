/** Fake environment for a command, which records the command's output. */
import type { CommandContext, Output, StopSignal } from '../../src/cli/command/context.ts';

export interface RecordingOutput extends Output {
  text: string;
}

export interface RecordingContext extends CommandContext {
  readonly stdout: RecordingOutput;
  readonly stderr: RecordingOutput;
  stop(signal: StopSignal): void;
}

export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  readonly colour?: boolean;
}

/** Returns an output that records the text written to it. If `terminal` is undefined, the output is a pipe. */
export function recordingOutput(terminal?: Terminal): RecordingOutput {
  return {
    text: '',
    write(text) {
      this.text += text;
    },
    isTTY: terminal !== undefined,
    colour: terminal?.colour ?? false,
    columns: () => terminal?.columns ?? 80,
    rows: () => terminal?.rows ?? 24,
  };
}

export function recordingContext(terminal?: Terminal): RecordingContext {
  const stop = new AbortController();
  const stdout = recordingOutput(terminal);
  return {
    stdout,
    stderr: recordingOutput(terminal),
    writeBytes: async (chunk) => stdout.write(Buffer.from(chunk).toString()),
    readStdin: async () => '',
    env: {},
    cwd: '/work-folder',
    signal: stop.signal,
    stop: (signal) => stop.abort(signal),
  };
}

/** Returns the lines that a terminal would show after this output. */
export function shownOn(text: string): readonly string[] {
  const lines: string[] = [''];
  let row = 0;
  for (const [piece] of text.matchAll(/\p{Cc}\[\??(\d*)([A-Za-z])|\r|\n|[^\p{Cc}]+/gu)) {
    const sequence = /\[(\??)(\d*)([A-Za-z])$/.exec(piece);
    if (piece === '\n') row++;
    else if (piece === '\r') continue;
    else if (!/^\p{Cc}/u.test(piece)) lines[row] = piece;
    else if (sequence?.[3] === 'A') row -= Number(sequence[2]);
    else if (sequence?.[3] === 'J') lines.length = row;
    lines[row] ??= '';
  }
  return lines.slice(0, -1);
}
