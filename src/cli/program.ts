/**
 * The command line: which commands and flags there are, and what `--help` says. Each command lives in a file of its own
 * that is loaded when it is called and not before, so that `--help` answers at once.
 *
 * Invariant: whatever happens, `runProgram` resolves to an exit status of `exitStatus`, and a failure has told on stderr
 * what was wrong.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { LogfleetError } from '../base/errors.ts';
import { addClusterOptions, addLogOptions, addTargetOptions, type Ends, example } from './command-parts.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { addExportCommands } from './export-commands.ts';
import { volumeFlag } from './export-places.ts';
import {
  duration,
  fileList,
  listenAddress,
  nameList,
  positiveNumber,
  valueFromVariable,
  variableOf,
  wholeNumber,
} from './flag-values.ts';
import type {
  GetOptions,
  ManifestsOptions,
  PlanOptions,
  RunOptions,
  SimulateOptions,
  ValidateOptions,
} from './options.ts';
import { addPersonCommands } from './person-commands.ts';
import { UsageError } from './usage-error.ts';
import { packageVersion } from './version.ts';

/** Runs one command line, without the program's own name in front, to its exit status. */
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

/** What the command that was called leaves behind for `runProgram`. */
interface Run {
  status: number;
  /** The exit status of what fails on the way. */
  failed: number;
  command: string;
}

function createProgram(context: CommandContext, run: Run): Command {
  const program = new Command('logfleet')
    .description(
      'Rolls fleets of log collectors to the version that a manifest names, and exports every row that a query finds: in a Kubernetes cluster, or without one.',
    )
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command, with an example')
    .helpCommand('help [command]', 'explain a command, with an example')
    .addHelpText('after', rootHelp);
  /** Ends an action: keeps the status that its command came to. */
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
    .description('print the CustomResourceDefinitions')
    .addHelpText('after', example('logfleet crds | kubectl apply -f -'))
    .action(() => ends(import('./crds.ts').then(({ crdsCommand }) => crdsCommand(context))));
  program
    .command('version')
    .description('print the version')
    .addHelpText('after', example('logfleet version'))
    .action(() => ends(import('./version.ts').then(({ versionCommand }) => versionCommand(context))));
  for (const command of [program, ...program.commands]) settle(command, context);
  program.hook('preAction', (_, command) => {
    run.command = nameOf(command);
    readVariables(command, context.env);
    // With it, 1 says that there is something to do.
    if (command.opts()['exitCode']) run.failed = exitStatus.usage;
  });
  return program;
}

function addRun(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('run')
    .description('be the operator: in a cluster, or on directories of manifests until all in them has settled')
    .argument('[DIR...]', 'directories of manifests; none: the cluster');
  addClusterOptions(command)
    .addOption(
      new Option('--namespaces <a,b>', 'the only namespaces to look at, with commas between').argParser(nameList),
    )
    .option('--operator-namespace <namespace>', "where the operator's own lease lives")
    .option('--leader-election', 'share the work with other replicas through a lease (the default in a cluster)')
    .option('--no-leader-election', 'be the only replica')
    .option('--watch', 'with DIR: go on when all has settled, and follow changes of the manifests')
    .addOption(new Option('--dir <dir>').hideHelp())
    .addOption(
      new Option('--volume <name=dir>', 'a directory that exports may write below; may be given often').argParser(
        volumeFlag,
      ),
    )
    .option('--allow-ambient-credentials', "let exports that name no Secret for their store use the operator's own")
    .addOption(
      new Option(
        '--grace <duration>',
        'what the service may need until an effect shows in its listings (default: 60s)',
      ).argParser(duration),
    )
    .addOption(
      new Option('--health-listen <host:port>', 'serve /healthz, /readyz and /metrics there').argParser(listenAddress),
    );
  addLogOptions(command, 'info')
    .addHelpText(
      'after',
      credentialsHelp +
        example('logfleet run ./policies', 'logfleet run --kubeconfig ~/.kube/config --namespaces logging'),
    )
    .action((dirs: string[], options: RunOptions) => {
      refuseMixedHosts(dirs, command);
      return ends(import('./run.ts').then(({ runCommand }) => runCommand(dirs, options, context)));
    });
}

function addManifests(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('manifests')
    .description('print the manifests that install the operator')
    .option('-n, --namespace <namespace>', "the operator's own namespace", 'logfleet')
    .addOption(
      new Option(
        '--namespaces <a,b>',
        'the only namespaces whose resources the operator may act on, with commas between (default: all)',
      ).argParser(nameList),
    )
    .addOption(
      new Option('--secrets <a,b>', 'the only Secrets that the operator may read (default: all)').argParser(nameList),
    )
    .option('--image <image>', "the operator's image (default: as in manifests/base)")
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

/** A flag for the other host would be ignored in silence otherwise. */
function refuseMixedHosts(dirs: readonly string[], command: Command): void {
  const given = (attribute: string) => command.getOptionValueSource(attribute) === 'cli';
  if (given('dir')) throw new UsageError('directories are named without a flag; write logfleet run DIR');
  if (dirs.length === 0 && given('watch')) {
    throw new UsageError('--watch is for directories, and none is named; in a cluster the operator watches always');
  }
  if (dirs.length === 0) return;
  for (const attribute of ['kubeconfig', 'context', 'namespaces', 'operatorNamespace', 'leaderElection']) {
    if (!given(attribute)) continue;
    const flag = command.options.find((option) => option.attributeName() === attribute)?.long;
    throw new UsageError(`${flag} is for a cluster, and ${dirs[0]} is a directory: leave one of the two out`);
  }
}

function addSimulate(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('simulate')
    .description('be the log service, offline; says on stdout where it listens')
    .addOption(
      new Option('--listen <host:port>', 'address; port 0 takes a free one')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 } satisfies SimulateOptions['listen'], '127.0.0.1:0'),
    )
    .option('--tls-dir <dir>', 'ca.crt, tls.crt and tls.key; made where absent')
    .option('--access-id <id>', 'the access ID that it accepts')
    .option('--access-key <key>', 'the access key that it accepts')
    .option('--scenario <file>', 'a YAML file with builds, collectors, log data, how all goes, limits and faults')
    .addOption(new Option('--collectors <n>', 'a mixed fleet of so many').argParser(wholeNumber).conflicts('scenario'))
    .addOption(new Option('--seed <n>', 'what is left to chance comes from this number').argParser(wholeNumber))
    .addOption(
      new Option('--log-data <file...>', 'messages to search, a line of JSON each')
        .argParser(fileList)
        .conflicts(['messages', 'from', 'to']),
    )
    .addOption(new Option('--messages <n>', 'or so many made-up messages').argParser(wholeNumber))
    .option('--from <time>', 'whose times begin here: 2026-11-01, 2026-11-01T12:00:00Z, or -24h before the start')
    .option('--to <time>', 'and end here; at the start')
    .option('--journal <file>', 'write one line of JSON for each request')
    .addOption(
      new Option('--time-scale <x>', 'upgrades and searches go x times faster').argParser(positiveNumber).default(1),
    )
    .addHelpText('after', example('logfleet simulate --listen 127.0.0.1:8443 --collectors 120 --time-scale 10'))
    .action((options: SimulateOptions) =>
      ends(import('./simulate.ts').then(({ simulateCommand }) => simulateCommand(options, context))),
    );
}

function addValidate(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('validate')
    .description('say what an API server would say about manifests, without one')
    .argument('<FILE...>', 'files, directories, or - for standard input')
    .addOption(
      new Option('-o, --output <format>', 'how to say it: a line for each finding, or a list of JSON')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText('after', example('logfleet validate ./policies', 'kustomize build . | logfleet validate -'))
    .action((files: string[], options: ValidateOptions) =>
      ends(import('./validate.ts').then(({ validateCommand }) => validateCommand(files, options, context))),
    );
}

function addPlan(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('plan')
    .description(
      'say what policies and exports would do now: who is upgraded, how many rows there are, how long it takes; writes nothing',
    )
    .argument('<FILE...>', 'files, directories, or - for standard input');
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'count the policies of all namespaces, or end where they may not be listed')
    .addOption(
      new Option(
        '--assume-upgrade <duration>',
        'how long one upgrade takes (default: as it was measured, else 3m)',
      ).argParser(duration),
    )
    .option('--exit-code', 'end with 1 where there is something to do, with 2 where that cannot be known')
    .addOption(
      new Option('-o, --output <format>', 'how to show it').choices(['table', 'wide', 'json', 'yaml']).default('table'),
    )
    .addOption(
      new Option('--timeout <duration>', 'wait for the service no longer than this (default: 10m)').argParser(duration),
    )
    .addHelpText(
      'after',
      planHelp + example('logfleet plan ./policies', 'logfleet plan new.yaml --dir ./policies --exit-code -o wide'),
    )
    .action((files: string[], options: PlanOptions) =>
      ends(import('./plan.ts').then(({ planCommand }) => planCommand(files, options, context))),
    );
}

function addGet(program: Command, context: CommandContext, ends: Ends): void {
  const command = program
    .command('get')
    .description('show the status of resources')
    .argument('[KIND]', 'cvp or sx; none: every kind')
    .argument('[NAME]', 'one resource; none: all');
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-w, --watch', 'go on showing it as it changes')
    .addOption(
      new Option('-o, --output <format>', 'how to show it').choices(['table', 'wide', 'json', 'yaml']).default('table'),
    )
    .addHelpText('after', example('logfleet get cvp -A', 'logfleet get sx errors --dir ./exports --watch'))
    .action((kind: string | undefined, name: string | undefined, options: GetOptions) =>
      ends(import('./get.ts').then(({ getCommand }) => getCommand(kind, name, options, context))),
    );
}

const rootHelp = `
Flags may stand in the environment: LOGFLEET_LOG_LEVEL for --log-level.
Exit status: 0 all is well; 1 something ended failed, incomplete or different;
2 wrong usage or invalid input; 130 interrupted.
${example(
  'logfleet simulate --collectors 120',
  'logfleet run ./policies',
  'logfleet get cvp --dir ./policies',
  'logfleet export --query error --from -1h --to now -o ./logs',
)}`;

const planHelp = `
With a cluster (-n, -A, --context, --kubeconfig) or --dir, the rollouts and the other policies
there count, too. The credentials stand in a Secret among the files, or there, or without
a cluster in the variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and
LOGFLEET_CA_FILE.
`;

const credentialsHelp = `
With DIR, the credentials stand in a Secret manifest there, or in the variables
LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

/** Lets a command speak through the context, and throw where commander would end the process. */
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

/** Fills in from the environment what the command line left open. An empty variable counts as none. */
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
      throw new UsageError(`the environment variable ${variableOf(option)} holds '${text}'. ${error.message}`);
    }
  }
}

/** `-o` is a format elsewhere: what is meant for another command must not become a folder. */
function isWithoutVariable(command: Command, attribute: string): boolean {
  return command.name() === 'export' && attribute === 'output';
}

/** Codes of errors about what the command line, or the environment, names: a directory, a kubeconfig, a bucket. */
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
  context.stderr.write(`${command}: this is a bug in logfleet, please report it with what follows.\n${trace}\n`);
  return failed;
}
