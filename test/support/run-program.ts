/** Runs a program until it ends, and collects its output. */
import { spawn } from 'node:child_process';

export interface ProgramResult {
  /** Exit code, or null if a signal ended the program. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunProgramOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** The standard input of the program. */
  readonly input?: string | Uint8Array | undefined;
}

/** Rejects only if the program cannot be started. */
export function runProgram(
  program: string,
  args: readonly string[],
  { env = process.env, input = '' }: RunProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject).on('close', (status) => resolve({ status, stdout, stderr }));
    // Ignores the error that occurs if the program ends before it has read its whole input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
