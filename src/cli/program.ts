/** Defines commands, flags and help. A command's code is loaded only when it runs. */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { kindNames } from '../api/kinds.ts';
import { LogfleetError } from '../base/errors.ts';
import { fileList, listenAddress } from '../base/flag-values.ts';
import { type CommandContext, exitStatus } from './command/context.ts';
import {
  addClusterOptions,
  addLogOptions,
  addTargetOptions,
  duration,
  example,
  nameList,
  oneOf,
  port,
  type Runs,
  resourceArgument,
  valueFromVariable,
  variableOf,
  volumeFlag,
} from './command/flags.ts';
import { invocation } from './command/invocation.ts';
import type { ExportOptions, PauseOptions, VerifyOptions } from './command/options.ts';
import { packageVersion } from './command/package-folder.ts';
import { flagsOfS3, isContainerAddress } from './command/store-address.ts';
import { UsageError, wrongUsage } from './command/usage-error.ts';
import type { Shell } from './completion.ts';
import { fieldFlags, storeFlags } from './export/field-flags.ts';
import { addSimulate } from './simulate.ts';

/** Runs one logfleet command. `argv` does not contain the program's name. Resolves to the exit status. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const run: Run = { status: exitStatus.ok, failed: exitStatus.failed, command: '' };
  const program = createProgram(context, run);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    run.status = statusOf(error, run, context);
  }
  return context.signal.reason === 'SIGINT' ? exitStatus.interrupted : run.status;
}

/** Command that was run, and its exit status. */
export interface Run {
  status: number;
  /** Exit status for failures other than wrong usage. */
  failed: number;
  /** Name of the command, such as `run`. Empty until it is known. */
  command: string;
}

/** Returns the parser of the command line. After a command has ended, `run` contains its exit status. */
export function createProgram(context: CommandContext, run: Run): Command {
  const program = new Command('logfleet')
    .description(
      'Upgrades fleets of log collectors to the version in a manifest, and exports all rows that a query finds. Works in a Kubernetes cluster or without one.',
    )
    .version(packageVersion(), '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show the help of a command, with an example.')
    .helpCommand('help [command]', 'Show the help of a command, with an example.')
    .addHelpText('after', rootHelp);
  const runs: Runs =
    (load) =>
    async (...args) => {
      const command = await load();
      run.status = await command(...([...args.slice(0, -1), context] as never[]));
    };
  addRun(program, runs);
  addSimulate(program, runs, context);
  addValidate(program, runs);
  addPlan(program, runs);
  addFleet(program, runs);
  addGet(program, runs);
  addUi(program, runs);
  addSwitch(
    program,
    runs,
    'pause',
    'Start no further upgrade or search. Upgrades and searches in flight continue to their end.',
  );
  addSwitch(program, runs, 'resume', 'Resume after a pause.');
  addRolloutCommands(program, runs);
  addForget(program, runs);
  addExport(program, runs, context.stderr.isTTY);
  addVerify(program, runs);
  addManifests(program, runs);
  addCrds(program, runs);
  addVersion(program, runs);
  addCompletion(program, runs);
  for (const command of [program, ...program.commands]) settle(command, context);
  program.hook('preAction', (_, command) => {
    run.command = command.name();
    readVariables(command, context.env);
    // With `--exit-code`, exit status 1 means that there is something to do. So errors need a different exit status.
    if (command.opts()['exitCode']) run.failed = exitStatus.usage;
  });
  return program;
}

function addRun(program: Command, runs: Runs): void {
  const command = program
    .command('run')
    .description(
      'Run the operator in a cluster, or on directories of manifests until every resource has finished or failed.',
    )
    .argument('[DIR...]', 'Directories of manifests to work on (default: the cluster of the kubeconfig).');
  addClusterOptions(command)
    .option('--namespaces <a,b>', 'Namespaces that the operator acts on, separated by commas (default: all).', nameList)
    .option('--operator-namespace <namespace>', "Namespace of the operator's lease.")
    .option('--leader-election', 'Elect a leader among the replicas of the operator (default in a cluster).')
    .option('--no-leader-election', 'Run as the only replica.')
    .option(
      '--watch',
      'Keep running after all resources have finished, and follow changes of the manifests. Needs DIR.',
    )
    .addOption(new Option('--dir <dir>').hideHelp())
    .option(
      '--volume <name=dir>',
      'Use the directory DIR as the volume NAME, to which exports write. Can be repeated.',
      volumeFlag,
    )
    .option(
      '--allow-ambient-credentials',
      'Allow exports without a Secret for their object store to use the credentials of the operator itself.',
    )
    .option(
      '--grace <duration>',
      'Maximum time until every list of collectors from the service shows the effect of an upgrade (default: 60s).',
      duration,
    )
    .option('--health-listen <host:port>', 'Serve /healthz, /readyz and /metrics at this address.', listenAddress)
    .option(
      '--notification-secret <name>',
      'Secret with the webhook for notifications: NAME in the namespace of the operator, or NAMESPACE/NAME.',
    );
  addLogOptions(command, 'info')
    .addHelpText(
      'after',
      credentialsHelp + example('run ./policies', 'run --kubeconfig ~/.kube/config --namespaces logging'),
    )
    .hook('preAction', () => refuseMixedHosts(command))
    .action(runs(() => import('./run/run.ts').then(({ runCommand }) => runCommand)));
}

function addCrds(program: Command, runs: Runs): void {
  program
    .command('crds')
    .description('Print the CustomResourceDefinitions.')
    .addHelpText('after', example('crds | kubectl apply -f -'))
    .action(runs(() => import('./manifests.ts').then(({ crdsCommand }) => crdsCommand)));
}

function addVersion(program: Command, runs: Runs): void {
  addClusterOptions(
    program
      .command('version')
      .description('Print the versions of the program and of the operator in the cluster. Warn if they differ.'),
  )
    .option('--client', 'Print only the version of the program.')
    .option('--operator-namespace <namespace>', 'Namespace of the operator (default: all namespaces).')
    .addHelpText('after', example('version', 'version --client'))
    .action(runs(() => import('./version.ts').then(({ versionCommand }) => versionCommand)));
}

function addCompletion(program: Command, runs: Runs): void {
  program
    .command('completion')
    .description('Print a script that lets a shell complete commands and flags.')
    .addArgument(new Argument('<SHELL>', 'Shell for which the script is.').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', example('completion bash', 'completion fish | source'))
    .action(
      runs(async () => {
        const { completionCommand } = await import('./completion.ts');
        return (shell: Shell, _: object, context: CommandContext) => completionCommand(program, shell, context);
      }),
    );
}

function addManifests(program: Command, runs: Runs): void {
  program
    .command('manifests')
    .description('Print the manifests that install the operator.')
    .option('-n, --namespace <namespace>', 'Namespace of the operator.', 'logfleet')
    .option(
      '--namespaces <a,b>',
      'Namespaces that the operator may act on, separated by commas (default: all).',
      nameList,
    )
    .option('--secrets <a,b>', 'Secrets that the operator may read, separated by commas (default: all).', nameList)
    .option(
      '--image <image>',
      'Container image of the operator (default: the image in manifests/base/deployment.yaml).',
    )
    .option(
      '--notification-secret <name>',
      'Let the operator send notifications to the webhook in this Secret. Adds the right to read the Secret.',
    )
    .option(
      '--export-jobs',
      'Let exports run in Kubernetes Jobs. Adds the rights that the Jobs need, and the image of their pods.',
    )
    .addHelpText(
      'after',
      example('manifests | kubectl apply -f -', 'manifests --namespaces team-a,team-b | kubectl apply -f -'),
    )
    .action(runs(() => import('./manifests.ts').then(({ manifestsCommand }) => manifestsCommand)));
}

/** Throws a `UsageError` if flags of a cluster and of a directory are mixed. */
function refuseMixedHosts(command: Command): void {
  const [directory] = command.args;
  if (isGiven(command, 'dir'))
    throw new UsageError(
      `--dir is not a flag of this command, which takes directories as arguments: write ${invocation('run DIR')}`,
    );
  if (directory === undefined) {
    if (!isGiven(command, 'watch')) return;
    throw new UsageError(
      '--watch is only for directories: remove --watch, since the operator of a cluster always runs until a signal',
    );
  }
  const ofCluster = [
    'kubeconfig',
    'context',
    'namespaces',
    'operatorNamespace',
    'leaderElection',
    'notificationSecret',
  ];
  const flag = flagAmong(command, ofCluster);
  if (flag) throw new UsageError(`${flag} is for a cluster, but ${directory} is a directory: remove one of them`);
}

/** Returns true if the command line contains the flag. `attribute` is the flag's name in the parsed options. */
function isGiven(command: Command, attribute: string): boolean {
  return command.getOptionValueSource(attribute) === 'cli';
}

function flagAmong(command: Command, attributes: readonly string[]): string | undefined {
  const attribute = attributes.find((each) => isGiven(command, each));
  return command.options.find((option) => option.attributeName() === attribute)?.long;
}

function addValidate(program: Command, runs: Runs): void {
  program
    .command('validate')
    .description('Check manifests as an API server does.')
    .argument('<FILE...>', 'Files, directories, or - for standard input.')
    .addOption(
      oneOf('-o, --output <format>', 'Format: a line for each finding, or a JSON list.', ['text', 'json'], 'text'),
    )
    .addHelpText('after', example('validate ./policies', 'validate - < policies.yaml'))
    .action(runs(() => import('./validate.ts').then(({ validateCommand }) => validateCommand)));
}

function addPlan(program: Command, runs: Runs): void {
  const command = program
    .command('plan')
    .description(
      'Show what policies, exports and schedules would do now: upgrades, rows and durations. Writes nothing.',
    )
    .argument('<FILE...>', 'Files, directories, or - for standard input.');
  addTargetOptions(command)
    .option(
      '-A, --all-namespaces',
      'Read the policies of all namespaces, which can select the same collectors. Fails if you may not list them.',
    )
    .option(
      '--assume-upgrade <duration>',
      'Assumed duration of one upgrade (default: the measured duration of earlier upgrades, else 3m).',
      duration,
    )
    .option(
      '--exit-code',
      'End with status 0 if there is nothing to do, with 1 if there is something to do, and with 2 after an error.',
    )
    .addOption(oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml', 'markdown'], 'table'))
    .option('--timeout <duration>', 'Maximum wait for the service (default: 10m).', duration)
    .addHelpText('after', planHelp + example('plan ./policies', 'plan new.yaml --dir ./policies --exit-code -o wide'))
    .action(runs(() => import('./plan/plan.ts').then(({ planCommand }) => planCommand)));
}

function addFleet(program: Command, runs: Runs): void {
  const command = program
    .command('fleet')
    .description('List the collectors of the log service, or those that a selector selects, with their versions.')
    .argument('[SELECTOR]', 'Selector of collectors, as in a policy, in YAML or JSON (default: all collectors).');
  addTargetOptions(command)
    .option(
      '--policy <policy>',
      'Name or file of a policy. The command uses the Secret of the policy and, without SELECTOR, also its selector.',
    )
    .addOption(oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'csv'], 'table'))
    .option('--timeout <duration>', 'Maximum wait for the service (default: 10m).', duration)
    .addHelpText(
      'after',
      fleetHelp +
        example(
          "fleet 'matchFields: {osName: Linux}'",
          'fleet --policy ./production.yaml -o wide',
          'fleet -n logging -o csv',
        ),
    )
    .action(runs(() => import('./fleet/fleet.ts').then(({ fleetCommand }) => fleetCommand)));
}

function addGet(program: Command, runs: Runs): void {
  const command = program
    .command('get')
    .description('Show the status of resources.')
    .argument('[KIND]', 'cvp, sx or sxs. Without it: every kind.')
    .argument('[NAME]', 'One resource. Without it: all.');
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'Show all namespaces.')
    .option('-w, --watch', 'Follow changes.')
    .addOption(oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml'], 'table'))
    .addHelpText('after', example('get cvp -A', 'get sx errors --dir ./exports --watch'))
    .action(runs(() => import('./get/get.ts').then(({ getCommand }) => getCommand)));
}

function addUi(program: Command, runs: Runs): void {
  const command = program
    .command('ui')
    .description(
      'Show resources on a page for a browser on this machine. The page updates itself, and changes nothing.',
    );
  addTargetOptions(command)
    .option('-A, --all-namespaces', 'Show all namespaces.')
    .option('--port <port>', 'Port of the page on 127.0.0.1 (default: a free port).', port)
    .addHelpText('after', example('ui -A', 'ui --dir ./policies --port 8080'))
    .action(runs(() => import('./ui/ui.ts').then(({ uiCommand }) => uiCommand)));
}

function addRolloutCommands(program: Command, runs: Runs): void {
  const ofPolicies = resourceArgument(['CollectorVersionPolicy']);
  addPersonCommand(program, 'approve', 'Approve a stage that waits for approval.', ofPolicies)
    .option('--stage <name>', 'Name of the stage (default: the stage that waits for approval).')
    .action(runs(() => import('./person/approve.ts').then(({ approveCommand }) => approveCommand)));
  addPersonCommand(
    program,
    'retry',
    'Continue a stopped rollout, retry the failed upgrades of a policy, or repeat the failed runs of a schedule.',
    resourceArgument(['CollectorVersionPolicy', 'SearchExportSchedule']),
  ).action(runs(() => import('./person/rollout-request.ts').then(({ retryCommand }) => retryCommand)));
  addPersonCommand(program, 'abort', 'Abort a rollout: start no more upgrades in it.', ofPolicies).action(
    runs(() => import('./person/rollout-request.ts').then(({ abortCommand }) => abortCommand)),
  );
}

function addForget(program: Command, runs: Runs): void {
  program
    .command('forget')
    .description('Discard the state of a resource whose manifest was deleted from a directory.')
    .addArgument(resourceArgument(kindNames))
    .requiredOption('--dir <dir>', 'Directory of manifests.')
    .option('-n, --namespace <namespace>', 'Namespace (default: the only one with this name).')
    .addHelpText('after', example('forget cvp/production --dir ./policies'))
    .action(runs(() => import('./person/forget.ts').then(({ forgetCommand }) => forgetCommand)));
}

/** Adds the command `pause` or `resume`. */
function addSwitch(program: Command, runs: Runs, name: 'pause' | 'resume', description: string): void {
  const examples = [`${name} sx/errors -n logging`, `${name} --all`];
  const command: Command = addPersonCommand(
    program,
    name,
    description,
    resourceArgument(kindNames, '[KIND/NAME]'),
    ...examples,
  )
    .option('--all', 'All resources of the operator, in all namespaces.')
    .option(
      '--operator-namespace <namespace>',
      'Namespace of the operator to which --all applies (default: the namespace that contains its Lease).',
    )
    .hook('preAction', () => refuseMixedTargets(command))
    .action(runs(() => import('./person/pause.ts').then((commands) => commands[`${name}Command`])));
}

/**
 * Throws a `UsageError` unless the command line has either a resource name or `--all`. Also throws it if a flag would
 * have no effect.
 */
function refuseMixedTargets(command: Command): void {
  const { all, dir } = command.opts<PauseOptions>();
  const [target] = command.args;
  const name = command.name();
  if (target === undefined && !all) {
    throw new UsageError(
      `a resource or --all is missing: write ${name} cvp/production for a policy, ${name} sx/errors for an export, or ${name} --all`,
    );
  }
  if (target !== undefined && all)
    throw new UsageError(`--all means all resources, but ${target} is one resource: remove one of them`);
  if (all && isGiven(command, 'namespace')) {
    throw new UsageError(
      '--all means all namespaces, but -n selects one: remove -n. To select the operator, use --operator-namespace',
    );
  }
  if (isGiven(command, 'operatorNamespace') && (!all || dir !== undefined)) {
    throw new UsageError(
      '--operator-namespace selects the operator of a cluster for --all: remove the flag, or use it with --all and without --dir',
    );
  }
}

function addPersonCommand(
  program: Command,
  name: string,
  description: string,
  target: Argument,
  ...examples: readonly string[]
): Command {
  const command = program.command(name).description(description).addArgument(target);
  const lines = [`${name} cvp/production -n logging`, `${name} cvp/production --dir ./policies`];
  return addTargetOptions(command).addHelpText('after', example(...lines, ...examples));
}

function addExport(program: Command, runs: Runs, isOnTerminal: boolean): void {
  const command = program
    .command('export')
    .description(
      'Export all rows that a query finds, each row once. A SearchExport in a manifest defines the export, or flags do.',
    )
    .argument(
      '[FILE]',
      'Manifest of the export, or - for standard input. Without FILE, the flags --query, --from, --to and -o define the export.',
    )
    .option(
      '-o, --output <where>',
      'Destination of the files: a directory, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, or https://HOST/CONTAINER/FOLDER (Azure). With -, the rows go to stdout.',
    );
  for (const { option } of fieldFlags) command.addOption(option);
  // All flags defined so far describe an export. They are errors if the command line also names a manifest.
  const exportFlags = command.options.map((option) => option.attributeName());
  command
    .option(
      '--name <name>',
      'Name of the export (default: export). If FILE contains several exports, the name selects one of them.',
    )
    .option('-n, --namespace <namespace>', 'Namespace for manifests that do not specify one (default: "default").')
    .option(
      '--volume <name=dir>',
      'Use the directory DIR as the volume NAME, to which the export in FILE writes. Can be repeated.',
      volumeFlag,
    )
    .option('--secret <file>', 'File with Secrets. Repeatable.', fileList);
  // If the output is not a terminal, the default level is `error`, because warnings would repeat lines of the live
  // view.
  addLogOptions(command, isOnTerminal ? 'warn' : 'error')
    .addHelpText(
      'after',
      exportHelp +
        example(
          'export errors.yaml --volume exports=/srv/exports',
          'export --query error --from -24h --to now -o ./errors',
          'export --query error --from -1h --to -5m --format csv -o - | head',
        ),
    )
    .hook('preAction', () => refuseMixedForms(command, exportFlags))
    .action(runs(() => import('./export/export.ts').then(({ exportCommand }) => exportCommand)));
}

/**
 * Throws a `UsageError` if a flag does not apply because the command line names a manifest, or because it names none.
 */
function refuseMixedForms(command: Command, exportFlags: readonly string[]): void {
  const [file] = command.args;
  if (file !== undefined) {
    const other = flagAmong(command, exportFlags);
    if (other)
      throw new UsageError(
        `${other} is only for an export without a manifest: remove ${other}, and set the field in ${file} instead`,
      );
    return;
  }
  if (isGiven(command, 'volume'))
    throw new UsageError('--volume is only for an export with a manifest: write -o DIR instead of --volume');
  const options = command.opts<ExportOptions>();
  const { output } = options;
  const ofStore = flagAmong(command, unusedAttributes(output));
  if (output !== undefined && ofStore) {
    throw new UsageError(`${ofStore} has no effect, because -o ${output} is not in an S3 store: remove ${ofStore}`);
  }
  const missing = (['query', 'from', 'to'] as const).filter((name) => !options[name]).map((name) => `--${name}`);
  if (missing.length === 0) return;
  const flags = missing.join(' and ');
  throw new UsageError(`an export without a manifest needs ${flags}: add ${flags}, or name a manifest`);
}

/** Returns the option names of those flags for object stores that have no effect on the destination `place`. */
function unusedAttributes(place: string | undefined): readonly string[] {
  if (place?.startsWith('s3://')) return [];
  const isOtherStore = place !== undefined && (place.startsWith('gs://') || isContainerAddress(place));
  return isOtherStore ? flagsOfS3 : storeAttributes;
}

const storeAttributes = storeFlags().map(({ attribute }) => attribute);

function addVerify(program: Command, runs: Runs): void {
  const command = program
    .command('verify')
    .description(
      'Read the files of an export, and check them against the list of files in its manifest.json. Writes nothing.',
    )
    .argument(
      '<MANIFEST>',
      'The manifest.json of an export, or its folder. Write a path or an address (s3://…, gs://… or https://…). A local folder may contain several exports.',
    )
    .option(
      '--schedule',
      'Verify all runs of a schedule. For MANIFEST, write the folder of the schedule, such as /srv/exports/logging/errors.',
    )
    .option('--manifests-only', 'Do not read the data files of the runs. Needs --schedule.')
    .option(
      '--from <time>',
      'Start of the time range that the runs must cover (default: the start of the schedule). Needs --schedule.',
    )
    .option(
      '--to <time>',
      'End of the time range that the runs must cover (default: the end of the last run). Needs --schedule.',
    );
  for (const { option } of storeFlags()) command.addOption(option);
  command
    .addOption(oneOf('-o, --output <format>', 'Format: a table of checks, or JSON.', ['table', 'json'], 'table'))
    .addHelpText(
      'after',
      verifyHelp +
        example(
          'verify /srv/exports',
          'verify s3://audit/logs/prod/errors/3f2a… --region eu-central-1',
          'verify --schedule /srv/exports/logging/errors --manifests-only',
        ),
    )
    .hook('preAction', () => refuseUnusedFlags(command))
    .action(
      runs(async () => {
        const isSchedule = command.opts<VerifyOptions>().schedule === true;
        if (isSchedule) return (await import('./verify/verify-schedule.ts')).verifyScheduleCommand;
        return (await import('./verify/verify.ts')).verifyCommand;
      }),
    );
}

/** Throws a `UsageError` if a flag has no effect, because the manifest is not in S3 or because `--schedule` is missing. */
function refuseUnusedFlags(command: Command): void {
  const [manifest = ''] = command.args;
  const flag = flagAmong(command, unusedAttributes(manifest));
  if (flag) throw new UsageError(`${flag} has no effect, because ${manifest} is not in an S3 store: remove ${flag}`);
  const ofSchedule = isGiven(command, 'schedule') ? undefined : flagAmong(command, ['manifestsOnly', 'from', 'to']);
  if (ofSchedule)
    throw new UsageError(
      `${ofSchedule} applies only to the runs of a schedule: add --schedule, or remove ${ofSchedule}`,
    );
}

const exportHelp = `
Prints the address of the manifest to stdout. After an interrupt, the same
command continues after the complete intervals (-24h is a new range each time).
With -o -, rows are printed from the oldest to the newest, after all of them are
proven to be complete; with --incomplete-policy Keep, other rows too.
Data newer than --settle-delay is searched later: an export --to now waits.
The credentials of the service are in a Secret in FILE or --secret, or in the
variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and
LOGFLEET_CA_FILE.
The credentials of a store are in a Secret that the manifest names, or in the
environment, such as AWS_ACCESS_KEY_ID, AZURE_STORAGE_KEY or
GOOGLE_APPLICATION_CREDENTIALS.
`;

const verifyHelp = `
Ends with 0 if every row exists exactly once, and with 1 if something differs or
is incomplete. With --schedule, 0 means that the runs cover the range without
gap and overlap. Credentials for s3:// come from the environment:
AWS_ACCESS_KEY_ID and similar variables, files, roles. For https:// they are
AZURE_STORAGE_KEY and similar variables, an identity of Azure, or az login. For
gs:// they are Application Default Credentials of Google Cloud, such as the file
in GOOGLE_APPLICATION_CREDENTIALS.
`;

function rootHelp(): string {
  const examples = example(
    'simulate --collectors 120',
    'run ./policies',
    'get cvp --dir ./policies',
    'export --query error --from -1h --to now -o ./logs',
  );
  return `
An environment variable can replace a flag: LOGFLEET_LOG_LEVEL for --log-level.
Exit status: 0 success; 1 something failed, is incomplete or differs;
2 wrong usage or invalid input; 130 interrupted.
${examples}`;
}

const planHelp = `
With a cluster (-n, -A, --context, --kubeconfig) or --dir, the plan includes the current
rollouts and the other policies there. The credentials are in a Secret among the files, in
the cluster or directory, or without a cluster in the variables LOGFLEET_BASE_URL,
LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

const fleetHelp = `
With --policy, -n, --kubeconfig, --context or --dir, the credentials come from
the Secret that the policies use. Without these flags, no cluster is read, and
the credentials come from the variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID,
LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

const credentialsHelp = `
With DIR, the credentials are in a Secret manifest there, or in the variables
LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`;

/**
 * Makes the command's parser write to the context's streams. On errors, the parser throws instead of ending the
 * process.
 */
function settle(command: Command, context: CommandContext): void {
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

/** Returns the beginning of error messages of a command, such as `logfleet run`. */
function titleOf(command: string): string {
  return `logfleet ${command}`.trimEnd();
}

function helpHint(command: string): string {
  return `See ${invocation(`${command} --help`.trimStart())}.\n`;
}

/**
 * Takes the values of flags that are not on the command line from environment variables. An empty variable counts as
 * unset.
 */
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

/**
 * Returns whether a flag ignores environment variables. This is true for `-o` of `export`, because its variable would
 * be `LOGFLEET_OUTPUT`, which sets the output format of other commands.
 */
function isWithoutVariable(command: Command, attribute: string): boolean {
  return command.name() === 'export' && attribute === 'output';
}

/** Error codes of wrong input, such as a wrong directory, kubeconfig or bucket. */
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
  if (error instanceof LogfleetError && error.handling.kind !== 'bug') {
    const isUsage = error.reason === wrongUsage;
    context.stderr.write(`${titleOf(command)}: ${error.message}\n${isUsage ? helpHint(command) : ''}`);
    return isUsage || unusableInput.includes(error.code) ? exitStatus.usage : failed;
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.stderr.write(
    `${titleOf(command)}: this is a bug in logfleet. Please report it with this stack trace:\n${trace}\n`,
  );
  return failed;
}
