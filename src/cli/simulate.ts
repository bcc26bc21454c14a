/** `logfleet simulate`: simulates the log service (`simulator/command.ts`). */
import type { Command } from 'commander';
import { defineSimulate } from '../../simulator/command.ts';
import { type CommandContext, exitStatus } from './command/context.ts';
import { example, type Runs } from './command/flags.ts';

export function addSimulate(program: Command, runs: Runs, context: CommandContext): void {
  const ends = (simulator: Promise<void>) => runs(async () => () => simulator.then(() => exitStatus.ok))();
  defineSimulate(program.command('simulate'), context, ends).addHelpText(
    'after',
    example('simulate --listen 127.0.0.1:8443 --collectors 120 --time-scale 10'),
  );
}
