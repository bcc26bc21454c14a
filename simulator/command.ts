/** The flags of the `simulate` command. Imports nothing from the simulator, so that `--help` stays fast. */
import { InvalidArgumentError, Option } from 'commander';
import { fileList, listenAddress, wholeNumber } from '../src/base/flag-values.ts';
import type { SimulateOptions } from './options.ts';

export const simulateDescription =
  'Simulate the log service on this machine. Prints one line with its addresses and credentials when ready.';

export const simulateFlags: readonly Option[] = [
  new Option('--listen <host:port>', 'address to listen on; port 0 selects a free port')
    .argParser(listenAddress)
    .default({ host: '127.0.0.1', port: 0 } satisfies SimulateOptions['listen'], '127.0.0.1:0'),
  new Option('--tls-dir <dir>', 'directory with ca.crt, tls.crt and tls.key; created if absent'),
  new Option('--access-id <id>', 'access ID that the service accepts'),
  new Option('--access-key <key>', 'access key that the service accepts'),
  new Option('--scenario <file>', 'YAML file with builds, collectors, log data, limits and faults'),
  new Option('--collectors <n>', 'number of collectors to generate, instead of a scenario')
    .argParser(wholeNumber)
    .conflicts('scenario'),
  new Option('--seed <n>', 'random seed').argParser(wholeNumber),
  new Option('--log-data <file...>', 'NDJSON files with messages to search')
    .argParser(fileList)
    .conflicts(['messages', 'from', 'to']),
  new Option('--messages <n>', 'number of messages to generate').argParser(wholeNumber),
  new Option(
    '--from <time>',
    'start of the generated messages, such as 2026-11-01, 2026-11-01T12:00:00Z, or -24h (24 hours ago)',
  ),
  new Option('--to <time>', 'end of the generated messages (default: now)'),
  new Option('--journal <file>', 'file to which one line of JSON is written per request'),
  new Option('--time-scale <x>', 'run upgrades and searches x times as fast').argParser(positiveNumber).default(1),
];

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^[\d.]+$/.test(text) || !(value > 0))
    throw new InvalidArgumentError('Set a number greater than 0, such as 1 or 0.5.');
  return value;
}
