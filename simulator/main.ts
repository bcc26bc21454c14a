/** The simulator as a standalone program. SIGINT, SIGTERM and SIGHUP end it. */
import { Command } from 'commander';
import { LogfleetError } from '../src/base/errors.ts';
import { simulateDescription, simulateFlags } from './command.ts';
import { FlagError, type SimulateOptions } from './options.ts';
import { simulate } from './simulate.ts';

const exitStatus = { failed: 1, usage: 2 } as const;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort(signal));

const context = { stdout: process.stdout, env: {}, cwd: process.cwd(), signal: stop.signal };
const program = new Command('simulator')
  .description(simulateDescription)
  .action((options: SimulateOptions) => simulate(options, context));
for (const flag of simulateFlags) program.addOption(flag);
try {
  await program.exitOverride((error) => process.exit(error.exitCode && exitStatus.usage)).parseAsync();
} catch (error) {
  if (!(error instanceof LogfleetError)) throw error;
  process.stderr.write(`simulator: ${error.message}\n`);
  process.exitCode = error instanceof FlagError ? exitStatus.usage : exitStatus.failed;
}
