/** What the descriptions of several commands have in common: flags, and how examples are shown. */
import { type Command, Option } from 'commander';
import type { LogOptions } from './options.ts';

/** Ends an action: keeps the status that its command came to. */
export type Ends = (status: Promise<number>) => Promise<void>;

export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'the kubeconfig (default: as kubectl finds it; in a pod, its service account)')
    .option('--context <name>', "the kubeconfig's context (default: its current one)");
}

export function addTargetOptions(command: Command): Command {
  return addClusterOptions(command)
    .option('-n, --namespace <namespace>', "the namespace (default: the context's)")
    .addOption(
      new Option('--dir <dir>', 'a directory of manifests in place of a cluster').conflicts(['kubeconfig', 'context']),
    );
}

/** `level` is how much to log where nobody says. */
export function addLogOptions(command: Command, level: LogOptions['logLevel']): Command {
  return command
    .addOption(
      new Option('--log-format <format>', 'how to log (default: text on a terminal, else json)').choices([
        'json',
        'text',
      ]),
    )
    .addOption(
      new Option('--log-level <level>', 'how much to log').choices(['debug', 'info', 'warn', 'error']).default(level),
    );
}

export function example(...lines: readonly string[]): string {
  return `\n${lines.length > 1 ? 'Examples' : 'Example'}:\n${lines.map((line) => `  $ ${line}\n`).join('')}`;
}
