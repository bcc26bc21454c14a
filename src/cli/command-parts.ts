/** Flags and help texts that several commands share. */
import { type Command, Option } from 'commander';
import type { LogOptions } from './options.ts';

/** Ends the action of a command: stores the exit status that the command resolves to. */
export type Ends = (status: Promise<number>) => Promise<void>;

export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'Path of the kubeconfig (default: as in kubectl; in a pod, its service account).')
    .option('--context <name>', 'Context of the kubeconfig (default: the current context).');
}

export function addTargetOptions(command: Command): Command {
  return addClusterOptions(command)
    .option('-n, --namespace <namespace>', 'Namespace (default: that of the context).')
    .addOption(
      new Option('--dir <dir>', 'Directory of manifests instead of a cluster.').conflicts(['kubeconfig', 'context']),
    );
}

/** Adds the flags of the log. `level` is the default of `--log-level`. */
export function addLogOptions(command: Command, level: LogOptions['logLevel']): Command {
  return command
    .addOption(
      new Option('--log-format <format>', 'Format of the log (default: text on a terminal, else json).').choices([
        'json',
        'text',
      ]),
    )
    .addOption(
      new Option('--log-level <level>', 'Minimum level of the log.')
        .choices(['debug', 'info', 'warn', 'error'])
        .default(level),
    );
}

export function example(...lines: readonly string[]): string {
  return `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  $ ${line}\n`).join('')}`;
}
