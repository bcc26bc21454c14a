/**
 * The command line: its commands, flags and help. The file of a command is loaded only when the command runs, so that `--help` answers
 * quickly.
 *
 * Invariant: `runProgram` always resolves to one of `exitStatus`, and writes the cause of a failure to stderr.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { LogfleetError } from '../base/errors.ts';
import { listenAddress } from '../base/flag-values.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { addExportCommands } from './export/export-commands.ts';
import {
  addClusterOptions,
  addLogOptions,
  addTargetOptions,
  duration,
  type Ends,
  example,
  nameList,
  oneOf,
  valueFromVariable,
  variableOf,
  volumeFlag,
} from './flags.ts';
import type { GetOptions, ManifestsOptions, PlanOptions, RunOptions, ValidateOptions } from './options.ts';
import { addPersonCommands } from './person/person-commands.ts';
import { addSimulate } from './simulate.ts';
import { UsageError } from './usage-error.ts';
import { packageVersion } from './version.ts';

/** Runs one logfleet command. `argv` does not contain the name of the program. Resolves to the exit status. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const run: Run = { status: exitStatus.ok, failed: exitStatus.failed, command: 'logfleet' };
  const program = createProgram(context, run);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    run.status = statusOf(error, run, context);
  }
  return context.signal.reason === 'SIGINT' ? exitStatus.interrupted : run.status;
}

/** Result that the action of a command leaves for `runProgram`. */
interface Run {
  status: number;
  /** Exit status of the command after an unexpected error. */
  failed: number;
  command: string;
}

function createProgram(context: CommandContext, run: Run): Command {
  const program = new Command('logfleet')
    .description(
      'Upgrades fleets of log collectors to the version in a manifest, and exports all rows that a query finds. Works in a Kubernetes cluster or without one.',
    )
    .version(packageVersion(), '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show the help of a command, with an example.')
    .helpCommand('help [command]', 'Show the help of a command, with an example.')
    .addHelpText('after', rootHelp);
  /** Ends an action: stores the exit status that its command resolves to. */
  const ends = async (status: Promise<number>) => {
    run.status = await status;
  };
  addRun(program, context, ends);
  addSimulate(program, context, ends);
  addValidate(program, context, ends);
  addPlan(program, context, ends);
  addGet(program, context, ends);
  addPersonCommands(program, context, ends);
  addExportCommands(program, context, ends);
  addManifests(program, context, ends);
  program
    .command('crds')
    .description('Print the CustomResourceDefinitions.')
    .addHelpText('after', example('logfleet crds | kubectl apply -f -'))
    .action(() => ends(import('./manifests.ts').then(({ crdsCommand }) => crdsCommand(context))));
  program
    .command('version')
    .description('Print the version.')
    .addHelpText('after', example('logfleet version'))
    .action(() => ends(import('./version.ts').then(({ versionCommand }) => versionCommand(context))));
  for (const command of [program, ...program.commands]) settle(command, context);
  program.hook('preAction', (_, command) => {
    run.command = nameOf(command);
    readVariables(command, context.env);
    // With `--exit-code`, the exit status 1 means that there is something to do, so an error needs another status.
    if (command.opts()['exitCode']) run.failed = exitStatus.usage;
  });
  return program;
}

function addRun(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('run')
    .description(
      'Run the operator against a cluster, or against directories until every resource is settled or failed.',
    )
    .argument('[DIR...]', 'Directories of manifests. Without them: a cluster.');
  addClusterOptions(command)
    .option('--namespaces <a,b>', 'The only namespaces to act on, separated by commas.', nameList)
    .option('--operator-namespace <namespace>', "Namespace of the operator's lease.")
    .option('--leader-election', 'Elect a leader among replicas (default in a cluster).')
    .option('--no-leader-election', 'Run as the only replica.')
    .option('--watch', 'With DIR: keep running and follow changes of the manifests.')
    .addOption(new Option('--dir <dir>').hideHelp())
    .option('--volume <name=dir>', 'Directory below which exports may write. Repeatable.', volumeFlag)
    .option(
      '--allow-ambient-credentials',
      'Let exports without a Secret for their store use the credentials of the operator.',
    )
    .option(
      '--grace <duration>',
      'Maximum time until an effect appears in every listing of the service (default: 60s).',
      duration,
    )
    .option('--health-listen <host:port>', 'Serve /healthz, /readyz and /metrics at this address.', listenAddress);
  addLogOptions(command, 'info')
    .addHelpText(
      'after',
      credentialsHelp +
        example('logfleet run ./policies', 'logfleet run --kubeconfig ~/.kube/config --namespaces logging'),
    )
    .action((dirs: string[], options: RunOptions) => {
      refuseMixedHosts(dirs, command);
      return ends(import('./run/run.ts').then(({ runCommand }) => runCommand(dirs, options, context)));
    });
}

function addManifests(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('manifests')
    .description('Print the manifests that install the operator.')
    .option('-n, --namespace <namespace>', 'Namespace of the operator.', 'logfleet')
    .option(
      '--namespaces <a,b>',
      'The only namespaces that the operator may act on, separated by commas (default: all).',
      nameList,
    )
    .option('--secrets <a,b>', 'The only Secrets that the operator may read (default: all).', nameList)
    .option('--image <image>', 'Image of the operator (default: as in manifests/base).')
    .addHelpText(
      'after',
      example(
        'logfleet manifests | kubectl apply -f -',
        'logfleet manifests --namespaces team-a,team-b | kubectl apply -f -',
      ),
    )
    .action((options: ManifestsOptions) =>
      ends(import('./manifests.ts').then(({ manifestsCommand }) => manifestsCommand(options, context))),
    );
}

/**
 * Refuses flags that apply only to a cluster or only to a directory, if the command uses the other. They would
 * otherwise be ignored.
 */
function refuseMixedHosts(dirs: readonly string[], command: Command): void {
  const given = (attribute: string) => command.getOptionValueSource(attribute) === 'cli';
  if (given('dir')) throw new UsageError('directories are arguments without a flag: write logfleet run DIR');
  if (dirs.length === 0 && given('watch')) {
    throw new UsageError('--watch is for directories only: the operator of a cluster always watches');
  }
  if (dirs.length === 0) return;
  for (const attribute of ['kubeconfig', 'context', 'namespaces', 'operatorNamespace', 'leaderElection']) {
    if (!given(attribute)) continue;
    const flag = command.options.find((option) => option.attributeName() === attribute)?.long;
    throw new UsageError(`${flag} is for a cluster, but ${dirs[0]} is a directory: remove one of them`);
  }
}

function addValidate(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('validate')
    .description('Check manifests as an API server does.')
    .argument('<FILE...>', 'Files, directories, or - for standard input.')
    .addOption(
      oneOf('-o, --output <format>', 'Format: a line for each finding, or a JSON list.', ['text', 'json'], 'text'),
    )
    .addHelpText('after', example('logfleet validate ./policies', 'kustomize build . | logfleet validate -'))
    .action((files: string[], options: ValidateOptions) =>
      ends(import('./validate.ts').then(({ validateCommand }) => validateCommand(files, options, context))),
    );
}

function addPlan(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('plan')
    .description('Show what policies and exports would do now: upgrades, rows and durations. Writes nothing.')
    .argument('<FILE...>', 'Files, directories, or - for standard input.');
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'Fail if the policies of all namespaces cannot be listed.')
    .option('--assume-upgrade <duration>', 'Duration of one upgrade (default: as measured, else 3m).', duration)
    .option('--exit-code', 'End with 1 if there is something to do, with 2 if this is unknown.')
    .addOption(oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml'], 'table'))
    .option('--timeout <duration>', 'Maximum wait for the service (default: 10m).', duration)
    .addHelpText(
      'after',
      planHelp + example('logfleet plan ./policies', 'logfleet plan new.yaml --dir ./policies --exit-code -o wide'),
    )
    .action((files: string[], options: PlanOptions) =>
      ends(import('./plan/plan.ts').then(({ planCommand }) => planCommand(files, options, context))),
    );
}

function addGet(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('get')
    .description('Show the status of resources.')
    .argument('[KIND]', 'cvp or sx. Without it: every kind.')
    .argument('[NAME]', 'One resource. Without it: all.');
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'Show all namespaces.')
    .option('-w, --watch', 'Follow changes.')
    .addOption(oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml'], 'table'))
    .addHelpText('after', example('logfleet get cvp -A', 'logfleet get sx errors --dir ./exports --watch'))
    .action((kind: string | undefined, name: string | undefined, options: GetOptions) =>
      ends(import('./get/get.ts').then(({ getCommand }) => getCommand(kind, name, options, context))),
    );
}

const rootHelp = `
An environment variable can replace a flag: LOGFLEET_LOG_LEVEL for --log-level.
Exit status: 0 success; 1 something failed, is incomplete or differs;
2 wrong usage or invalid input; 130 interrupted.
${example(
  'logfleet simulate --collectors 120',
  'logfleet run ./policies',
  'logfleet get cvp --dir ./policies',
  'logfleet export --query error --from -1h --to now -o ./logs',
)}`;

const planHelp = `
With a cluster (-n, -A, --context, --kubeconfig) or --dir, the plan includes the current
rollouts and the other policies there. The credentials are in a Secret among the files, in
the cluster or directory, or without a cluster in the variables LOGFLEET_BASE_URL,
LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

const credentialsHelp = `
With DIR, the credentials are in a Secret manifest there, or in the variables
LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

/** Makes the parser (commander) write to the context, and throw errors instead of ending the process. */
function settle(command: Command, context: CommandContext): void {
  const name = nameOf(command);
  command.exitOverride().configureOutput({
    writeOut: (text) => context.stdout.write(text),
    writeErr: (text) => context.stderr.write(text),
    outputError: (text, write) => write(`${name}: ${text.replace(/^error: /, '').trimEnd()}\nSee ${name} --help.\n`),
    getOutHelpWidth: () => context.stdout.columns(),
    getErrHelpWidth: () => context.stderr.columns(),
    getOutHasColors: () => context.stdout.colour,
    getErrHasColors: () => context.stderr.colour,
  });
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

/** Sets flags that the command line omits from environment variables. An empty variable counts as not set. */
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
      throw new UsageError(`the environment variable ${variableOf(option)} is '${text}'. ${error.message}`);
    }
  }
}

/** True for `-o` of `export`: in other commands `-o` is a format, which must not become a folder. */
function isWithoutVariable(command: Command, attribute: string): boolean {
  return command.name() === 'export' && attribute === 'output';
}

/** Codes of errors about input of the user: a directory, a kubeconfig, a bucket. */
const unusableInput: readonly string[] = [
  ...['host.directory', 'host.misconfigured', 'host.noCluster'],
  ...['destination.invalid', 'destination.name', 'destination.missing', 'destination.absent'],
];

function statusOf(error: unknown, { command, failed }: Run, context: CommandContext): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.ok : exitStatus.usage;
  if (
    context.signal.aborted &&
    (error === context.signal.reason || (error as Error | undefined)?.name === 'AbortError')
  ) {
    return exitStatus.interrupted;
  }
  if (error instanceof UsageError) {
    context.stderr.write(`${command}: ${error.message}\nSee ${command} --help.\n`);
    return exitStatus.usage;
  }
  if (error instanceof LogfleetError && error.handling.kind !== 'bug') {
    context.stderr.write(`${command}: ${error.message}\n`);
    return unusableInput.includes(error.code) ? exitStatus.usage : failed;
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.stderr.write(`${command}: this is a bug in logfleet. Please report it with the following trace.\n${trace}\n`);
  return failed;
}
