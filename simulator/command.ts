/** Defines the command `simulate`. Imports the simulator only when the command runs, to keep `--help` fast. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { fileList, listenAddress, wholeNumber } from '../src/base/flag-values.ts';
import type { SimulateOptions, SimulatorContext } from './options.ts';

/**
 * Adds the flags and the action of the command `simulate`. The action calls `ends` with a promise. The promise resolves
 * when the simulator has ended.
 */
export function defineSimulate(
  command: Command,
  context: SimulatorContext,
  ends: (run: Promise<void>) => Promise<void>,
): Command {
  return command
    .description('Run the log service offline. Prints one line with its addresses and credentials when it is ready.')
    .addOption(
      new Option('--listen <host:port>', 'address; port 0 takes a free port')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 } satisfies SimulateOptions['listen'], '127.0.0.1:0'),
    )
    .option('--tls-dir <dir>', 'directory of ca.crt, tls.crt and tls.key, which are made if absent')
    .option('--access-id <id>', 'access ID that the service accepts')
    .option('--access-key <key>', 'access key that the service accepts')
    .option('--scenario <file>', 'YAML file with builds, collectors, log data, limits and faults')
    .addOption(
      new Option('--collectors <n>', 'size of a mixed fleet, in place of a scenario')
        .argParser(wholeNumber)
        .conflicts('scenario'),
    )
    .addOption(new Option('--seed <n>', 'random seed').argParser(wholeNumber))
    .addOption(
      new Option('--log-data <file...>', 'NDJSON files of messages to search')
        .argParser(fileList)
        .conflicts(['messages', 'from', 'to']),
    )
    .addOption(new Option('--messages <n>', 'number of generated messages to search').argParser(wholeNumber))
    .option('--from <time>', 'start of the generated messages: 2026-11-01, 2026-11-01T12:00:00Z, or -24h before now')
    .option('--to <time>', 'end of the generated messages (default: now)')
    .option('--journal <file>', 'write one line of JSON for each request')
    .addOption(
      new Option('--time-scale <x>', 'run upgrades and searches x times faster').argParser(positiveNumber).default(1),
    )
    .action((options: SimulateOptions) =>
      ends(import('./simulate.ts').then(({ simulate }) => simulate(options, context))),
    );
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^[\d.]+$/.test(text) || !(value > 0)) throw new InvalidArgumentError('Write a number above 0, as in 1 or 0.5.');
  return value;
}
