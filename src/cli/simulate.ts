/** `logfleet simulate`: simulates the log service. The simulator defines its flags and its run (`simulator/command.ts`). */
import type { Command } from 'commander';
import { defineSimulate } from '../../simulator/command.ts';
import { FlagError } from '../../simulator/options.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { type Ends, example } from './flags.ts';
import { UsageError } from './usage-error.ts';

export function addSimulate(program: Command, context: CommandContext, ends: Ends): void {
  const run = async (simulator: Promise<void>) => {
    try {
      await simulator;
      return exitStatus.ok;
    } catch (error) {
      throw error instanceof FlagError ? new UsageError(error.message) : error;
    }
  };
  defineSimulate(program.command('simulate'), context, (simulator) => ends(run(simulator))).addHelpText(
    'after',
    example('logfleet simulate --listen 127.0.0.1:8443 --collectors 120 --time-scale 10'),
  );
}
