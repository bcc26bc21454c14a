/** Runs promtool for tests of metrics and alerts. */
import { promtoolProgram } from '../../tools/installer/promtool.ts';
import { runProgram } from '../support/run-program.ts';

export interface PromtoolResult {
  readonly status: number | null;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Runs promtool with `input` as its standard input. */
export async function promtool(args: readonly string[], input = ''): Promise<PromtoolResult> {
  const { status, stdout, stderr } = await runProgram(await promtoolProgram(), args, { input });
  return { status, output: `${stdout}${stderr}` };
}
