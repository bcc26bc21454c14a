/** Runs promtool for tests of metrics and alerts. */
import { execFile } from 'node:child_process';
import { promtoolProgram } from '../../tools/installer/promtool.ts';

export interface PromtoolResult {
  readonly status: number | null;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Runs promtool with `input` as its standard input. */
export async function promtool(args: readonly string[], input = ''): Promise<PromtoolResult> {
  const program = await promtoolProgram();
  return new Promise((resolve) => {
    const child = execFile(program, [...args], { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) => {
      resolve({ status: child.exitCode, output: `${stdout}${stderr}` });
    });
    child.stdin?.end(input);
  });
}
