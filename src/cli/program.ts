/** Parses the command line, runs the command, and reports its errors. */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { isExpected, LogfleetError } from '../base/errors.ts';
import { type CommandContext, exitStatus } from './command/context.ts';
import { renderCommandExamples, valueFromVariable, variableOf } from './command/flags.ts';
import { invocation } from './command/invocation.ts';
import { packageVersion } from './command/package-folder.ts';
import { UsageError, wrongUsage } from './command/usage-error.ts';
import { type CommandDefinition, commands } from './commands.ts';

/** Runs one logfleet command. `argv` does not contain the program's name. Resolves to the exit status. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const run: CommandRun = { status: exitStatus.ok, failed: exitStatus.failed, command: '', logsJson: false };
  const program = createProgram(context, run);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    run.status = await statusOf(error, run, context);
  }
  return context.signal.reason === 'SIGINT' ? exitStatus.interrupted : run.status;
}

/** Command that was run, and its exit status. */
export interface CommandRun {
  status: number;
  /** Exit status for failures other than wrong usage. */
  failed: number;
  /** Name of the command, such as `run`. Empty until the command line has been parsed. */
  command: string;
  /** True if the command logs as JSON. An error that ends the command is then written as a line of JSON. */
  logsJson: boolean;
}

/** Returns a parser that runs the command on the command line, and then stores its exit status in `run`. */
export function createProgram(context: CommandContext, run: CommandRun): Command {
  const program = new Command('logfleet')
    .description(
      'Upgrades fleets of log collectors to the version in a manifest, and exports all rows that a query finds. Works in a Kubernetes cluster or without one.',
    )
    .version(packageVersion(), '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show the help of a command, with an example.')
    .helpCommand('help [command]', 'Show the help of a command, with an example.')
    .addHelpText('after', rootHelp);
  for (const definition of commands) define(program, definition, context, run);
  for (const command of [program, ...program.commands]) configureOutput(command, context);
  program.hook('preAction', (_, command) => {
    run.command = command.name();
    refuseEmptyValues(command);
    readVariables(command, context.env);
    run.logsJson = command.opts()['logFormat'] === 'json';
    // With `--exit-code`, exit status 1 means that there is something to do. Errors therefore need another exit status.
    if (command.opts()['exitCode']) run.failed = exitStatus.usage;
  });
  return program;
}

function define(program: Command, definition: CommandDefinition, context: CommandContext, run: CommandRun): void {
  const { description, flags = [], outputFlags, help = '', examples, check } = definition;
  const command = program
    .command(definition.name)
    .description(description)
    .addHelpText('after', help + renderCommandExamples(examples));
  for (const argument of definition.arguments ?? []) command.addArgument(argument);
  for (const flag of [...flags, ...(outputFlags?.(context) ?? [])]) command.addOption(flag);
  if (check) command.hook('preAction', () => check(command));
  command.action(async (...args) => {
    const start = await definition.load(command, program);
    // Replaces the last argument, which is the parser's own command object, with the context.
    run.status = await start(...([...args.slice(0, -1), context] as never[]));
  });
}

function rootHelp(): string {
  const examples = renderCommandExamples([
    'simulate --collectors 120',
    'run ./policies',
    'get cvp --dir ./policies',
    'export --query error --from -1h --to now -o ./logs',
  ]);
  return `
Environment variables can replace flags: LOGFLEET_LOG_LEVEL sets --log-level.
Exit status: 0 for success; 1 if something failed, is incomplete or differs;
2 for wrong usage or invalid input; 130 after an interruption.
${examples}`;
}

/**
 * Makes the command's parser write to the context's streams. On errors, the parser throws instead of ending the
 * process.
 */
function configureOutput(command: Command, context: CommandContext): void {
  const name = command.parent ? command.name() : '';
  command.exitOverride().configureOutput({
    writeOut: (text) => context.stdout.write(text),
    writeErr: (text) => context.stderr.write(text),
    outputError: (text, write) => {
      const problem = text.replace(/^error: /, '').trimEnd();
      write(`${titleOf(name)}: ${problem}\n${helpHint(name)}`);
    },
    getOutHelpWidth: () => context.stdout.columns(),
    getErrHelpWidth: () => context.stderr.columns(),
    getOutHasColors: () => context.stdout.colour,
    getErrHasColors: () => context.stderr.colour,
  });
}

/** Returns the text that begins a command's error messages, such as `logfleet run`. */
function titleOf(command: string): string {
  return `logfleet ${command}`.trimEnd();
}

function helpHint(command: string): string {
  return `See ${invocation(`${command} --help`.trimStart())}.\n`;
}

/**
 * Throws a `UsageError` if an argument or the value of a flag is empty. An empty value usually comes from an unset
 * shell variable. As a path, it would mean the current folder.
 */
function refuseEmptyValues(command: Command): void {
  const position = command.args.indexOf('');
  if (position >= 0) {
    const { registeredArguments: names } = command;
    const name = names[Math.min(position, names.length - 1)]?.name();
    throw new UsageError(`the argument ${name} is empty: write a value, or remove the argument`);
  }
  for (const option of command.options) {
    const values = [command.getOptionValue(option.attributeName())].flat();
    if (values.includes('')) throw new UsageError(`${option.long} is empty: write a value, or remove ${option.long}`);
  }
}

/** Sets flags that are not on the command line from environment variables. An empty variable counts as unset. */
function readVariables(command: Command, env: CommandContext['env']): void {
  for (const option of command.options) {
    const attribute = option.attributeName();
    const source = command.getOptionValueSource(attribute);
    const text = env[variableOf(option)];
    if (!text || isWithoutVariable(command, attribute) || (source !== undefined && source !== 'default')) continue;
    try {
      command.setOptionValueWithSource(attribute, valueFromVariable(option, text), 'env');
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new UsageError(
        `the environment variable ${variableOf(option)} has the invalid value '${text}'. ${error.message}`,
      );
    }
  }
}

/** For each flag, the flags that exclude it. A command reads either a directory or a cluster, not both. */
const excludedBy: Readonly<Record<string, readonly string[]>> = {
  dir: ['kubeconfig', 'context'],
  kubeconfig: ['dir'],
  context: ['dir'],
};

/**
 * Returns true if a flag ignores its environment variable, because another flag on the command line excludes it. The
 * flag `-o` of `export` always ignores its variable, because `LOGFLEET_OUTPUT` sets the output format of other
 * commands.
 */
function isWithoutVariable(command: Command, attribute: string): boolean {
  if (excludedBy[attribute]?.some((other) => command.getOptionValueSource(other) === 'cli')) return true;
  return command.name() === 'export' && attribute === 'output';
}

/** Error codes for invalid input, such as a wrong directory, kubeconfig or bucket. */
const unusableInput: readonly string[] = [
  ...['host.directory', 'host.misconfigured', 'host.noCluster'],
  ...['destination.invalid', 'destination.name', 'destination.missing', 'destination.absent'],
];

async function statusOf(error: unknown, run: CommandRun, context: CommandContext): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.ok : exitStatus.usage;
  if (
    context.signal.aborted &&
    (error === context.signal.reason || (error as Error | undefined)?.name === 'AbortError')
  ) {
    return exitStatus.interrupted;
  }
  if (run.logsJson) {
    const { createJsonLogger } = await import('../base/json-log.ts');
    createJsonLogger({ level: 'error', output: context.stderr }).error(`${titleOf(run.command)} failed`, { error });
  } else {
    const { printable } = await import('./render/text.ts');
    const lines = renderFailure(error, run.command).split('\n');
    context.stderr.write(lines.map(printable).join('\n'));
  }
  const isInput = error instanceof LogfleetError && (isUsage(error) || unusableInput.includes(error.code));
  return isInput ? exitStatus.usage : run.failed;
}

function isUsage({ reason }: LogfleetError): boolean {
  return reason === wrongUsage;
}

/** Returns the text that is written to stderr when an error ends the command. */
function renderFailure(error: unknown, command: string): string {
  if (isExpected(error)) {
    return `${titleOf(command)}: ${error.message}\n${isUsage(error) ? helpHint(command) : ''}`;
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${titleOf(command)}: this is a bug in logfleet. Please report it with this stack trace:\n${trace}\n`;
}
