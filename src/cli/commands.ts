/** The commands with their arguments, flags and help. A command's code is loaded only when the command runs. */
import { Argument, type Command, type Option } from 'commander';
import { simulateDescription, simulateFlags } from '../../simulator/command.ts';
import type { SimulateOptions } from '../../simulator/options.ts';
import { kindNames } from '../api/kinds.ts';
import { fileList, listenAddress } from '../base/flag-values.ts';
import { type CommandContext, exitStatus } from './command/context.ts';
import {
  allNamespacesFlag,
  clusterFlags,
  duration,
  flag,
  logFlags,
  nameList,
  oneOf,
  port,
  resourceArgument,
  targetFlags,
  timeoutFlag,
  volumeFlag,
} from './command/flags.ts';
import type { VerifyOptions } from './command/options.ts';
import type { Shell } from './completion.ts';
import { fieldFlags, storeFlags } from './export/field-flags.ts';
import {
  checkVerifyFlags,
  refuseMixedForms,
  refuseMixedHosts,
  refuseMixedTargets,
  requireDirectory,
} from './flag-conflicts.ts';

export interface CommandDefinition {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly Argument[];
  readonly flags?: readonly Option[];
  /** Returns the flags whose defaults depend on the output, for example on whether stderr is a terminal. */
  readonly outputFlags?: (context: CommandContext) => readonly Option[];
  /** Help text that follows the flags. It begins and ends with a line break. */
  readonly help?: string;
  /** Examples of command lines, without the program's name. */
  readonly examples: readonly string[];
  /** Throws a `UsageError` if flags and arguments contradict each other. */
  readonly check?: (command: Command) => void;
  /**
   * Loads the command's function. This function takes the arguments, the flags and the context, and resolves to the
   * exit status.
   */
  load(command: Command, program: Command): Promise<(...args: never[]) => Promise<number>>;
}

const manifestsArgument = new Argument('<FILE...>', 'Files, directories, or - for standard input.');

/** Returns the parts of a definition that all commands for a single resource share. */
function personCommand(name: string, description: string, target: Argument) {
  const examples = [`${name} cvp/production -n logging`, `${name} cvp/production --dir ./policies`];
  return { name, description, arguments: [target], flags: targetFlags, examples };
}

/** Defines the command `pause` or `resume`. */
function switchCommand(name: 'pause' | 'resume', description: string): CommandDefinition {
  const common = personCommand(name, description, resourceArgument(kindNames, '[KIND/NAME]'));
  return {
    ...common,
    flags: [
      ...targetFlags,
      flag('--all', 'All resources that the operator manages, in all namespaces.'),
      flag(
        '--operator-namespace <namespace>',
        'Namespace of the operator that --all pauses or resumes (default: the namespace with a running operator or, if none is running, the only namespace with the Lease of an operator).',
      ),
    ],
    examples: [...common.examples, `${name} sx/errors -n logging`, `${name} --all`],
    check: refuseMixedTargets,
    load: async () => (await import('./person/pause.ts'))[`${name}Command`],
  };
}

/** The commands, in the order in which the help lists them. */
export const commands: readonly CommandDefinition[] = [
  {
    name: 'run',
    description:
      'Run the operator in a cluster, or on directories of manifests until every resource has finished or failed.',
    arguments: [
      new Argument('[DIR...]', 'Directories of manifests to work on (default: the cluster in the kubeconfig).'),
    ],
    flags: [
      ...clusterFlags,
      flag('--namespaces <a,b>', 'Namespaces that the operator acts on, separated by commas (default: all).', nameList),
      flag('--operator-namespace <namespace>', "Namespace of the operator's lease."),
      flag('--leader-election', 'Elect a leader among the replicas of the operator (default in a cluster).'),
      flag('--no-leader-election', 'Run as the only replica.'),
      flag(
        '--watch',
        'Keep running after all resources have finished, and follow changes to the manifests. Needs DIR.',
      ),
      flag('--dir <dir>', '').hideHelp(),
      flag(
        '--volume <name=dir>',
        'Use the directory DIR as the volume NAME, to which exports write. Can be repeated.',
        volumeFlag,
      ),
      flag(
        '--allow-ambient-credentials',
        "Let exports without a Secret for their object store use the operator's own credentials.",
      ),
      flag(
        '--grace <duration>',
        'Maximum time for which the list of collectors from the service may still show the old version after an upgrade (default: 60s).',
        duration,
      ),
      flag('--health-listen <host:port>', 'Serve /healthz, /readyz and /metrics at this address.', listenAddress),
      flag(
        '--notification-secret <name>',
        'Secret with the webhook for notifications: NAME in the namespace of the operator, or NAMESPACE/NAME.',
      ),
      ...logFlags('info'),
    ],
    help: `
With DIR, the credentials come from a Secret manifest in DIR, or from the
environment variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID,
LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`,
    examples: ['run ./policies', 'run --kubeconfig ~/.kube/config --namespaces logging'],
    check: refuseMixedHosts,
    load: async () => (await import('./run/run.ts')).runCommand,
  },
  {
    name: 'simulate',
    description: simulateDescription,
    flags: simulateFlags,
    examples: ['simulate --listen 127.0.0.1:8443 --collectors 120 --time-scale 10'],
    load: async () => {
      const { simulate } = await import('../../simulator/simulate.ts');
      return (options: SimulateOptions, context: CommandContext) =>
        simulate(options, context).then(() => exitStatus.ok);
    },
  },
  {
    name: 'validate',
    description: 'Check manifests as an API server would.',
    arguments: [manifestsArgument],
    flags: [
      oneOf('-o, --output <format>', 'Format: a line for each finding, or a JSON list.', ['text', 'json'], 'text'),
    ],
    examples: ['validate ./policies', 'validate - < policies.yaml'],
    load: async () => (await import('./validate.ts')).validateCommand,
  },
  {
    name: 'plan',
    description:
      'Show what policies, exports and schedules would do now: upgrades, rows and durations. Writes nothing.',
    arguments: [manifestsArgument],
    flags: [
      ...targetFlags,
      flag(
        '-A, --all-namespaces',
        'Read the policies in all namespaces, because policies in other namespaces can select the same collectors. Fails if you do not have permission to list them.',
      ),
      flag(
        '--assume-upgrade <duration>',
        'Assumed duration of one upgrade (default: the measured duration of earlier upgrades, else 3m).',
        duration,
      ),
      flag(
        '--exit-code',
        'Exit with status 0 if there is nothing to do, with 1 if there is something to do, and with 2 after an error.',
      ),
      oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml', 'markdown'], 'table'),
      timeoutFlag,
    ],
    help: `
With --dir or the flags for a cluster (-n, -A, --context, --kubeconfig), the
plan includes the current rollouts and the other policies of the directory or
cluster. The credentials come from a Secret in the files, the directory or the
cluster. Without a cluster, they can also come from the environment variables
LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`,
    examples: ['plan ./policies', 'plan new.yaml --dir ./policies --exit-code -o wide'],
    load: async () => (await import('./plan/plan.ts')).planCommand,
  },
  {
    name: 'fleet',
    description:
      'List all collectors of the log service with their versions, or only the collectors that a selector matches.',
    arguments: [
      new Argument('[SELECTOR]', 'Selector of collectors, as in a policy, in YAML or JSON (default: all collectors).'),
    ],
    flags: [
      ...targetFlags,
      flag(
        '--policy <policy>',
        'Name or file of a policy. The command uses the Secret of the policy and, if SELECTOR is omitted, the selector of the policy.',
      ),
      oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'csv'], 'table'),
      timeoutFlag,
    ],
    help: `
With --policy, -n, --kubeconfig, --context or --dir, the credentials come from
the Secret that the policies use. Without these flags, no cluster is read, and
the credentials come from the environment variables LOGFLEET_BASE_URL,
LOGFLEET_ACCESS_ID, LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
`,
    examples: [
      "fleet 'matchFields: {osName: Linux}'",
      'fleet --policy ./production.yaml -o wide',
      'fleet -n logging -o csv',
    ],
    load: async () => (await import('./fleet/fleet.ts')).fleetCommand,
  },
  {
    name: 'get',
    description: 'Show the status of resources.',
    arguments: [
      new Argument('[KIND]', 'Kind of resource: cvp, sx or sxs (default: all kinds).'),
      new Argument('[NAME]', 'One resource. Without it: all.'),
    ],
    flags: [
      ...targetFlags,
      allNamespacesFlag,
      flag('-w, --watch', 'Follow changes.'),
      oneOf('-o, --output <format>', 'Output format.', ['table', 'wide', 'json', 'yaml'], 'table'),
    ],
    examples: ['get cvp -A', 'get sx errors --dir ./exports --watch'],
    load: async () => (await import('./get/get.ts')).getCommand,
  },
  {
    name: 'ui',
    description:
      'Show resources on a web page, for a browser on this machine. The page updates itself and changes nothing.',
    flags: [
      ...targetFlags,
      allNamespacesFlag,
      flag('--port <port>', 'Port of the page on 127.0.0.1 (default: a free port).', port),
    ],
    examples: ['ui -A', 'ui --dir ./policies --port 8080'],
    load: async () => (await import('./ui/ui.ts')).uiCommand,
  },
  switchCommand('pause', 'Start no more upgrades or searches. Upgrades and searches in flight run to completion.'),
  switchCommand('resume', 'Resume after a pause.'),
  {
    ...personCommand(
      'approve',
      'Approve a stage that is waiting for approval.',
      resourceArgument(['CollectorVersionPolicy']),
    ),
    flags: [
      ...targetFlags,
      flag('--stage <name>', 'Name of the stage (default: the stage that is waiting for approval).'),
    ],
    load: async () => (await import('./person/approve.ts')).approveCommand,
  },
  {
    ...personCommand(
      'retry',
      'Continue a stopped rollout, retry the failed upgrades of a policy, or repeat the failed runs of a schedule.',
      resourceArgument(['CollectorVersionPolicy', 'SearchExportSchedule']),
    ),
    load: async () => (await import('./person/retry-abort.ts')).retryCommand,
  },
  {
    ...personCommand(
      'abort',
      'Abort a rollout, so that no more of its upgrades start.',
      resourceArgument(['CollectorVersionPolicy']),
    ),
    load: async () => (await import('./person/retry-abort.ts')).abortCommand,
  },
  {
    name: 'forget',
    description:
      'In a directory of manifests, discard the state of a resource whose manifest was deleted, or delete a run of a schedule.',
    arguments: [resourceArgument(kindNames)],
    flags: [
      flag('--dir <dir>', 'Directory of manifests.'),
      flag(
        '-n, --namespace <namespace>',
        'Namespace (default: the only namespace that contains state of this resource).',
      ),
    ],
    examples: ['forget cvp/production --dir ./policies'],
    check: requireDirectory,
    load: async () => (await import('./person/forget.ts')).forgetCommand,
  },
  {
    name: 'export',
    description:
      'Export every row that a query finds, exactly once. The export is defined by a SearchExport in a manifest, or by flags.',
    arguments: [
      new Argument(
        '[FILE]',
        'Manifest of the export, or - for standard input. Without FILE, the flags --query, --from, --to and -o define the export.',
      ),
    ],
    flags: [
      flag(
        '-o, --output <where>',
        'Destination of the files: a directory, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, or https://HOST/CONTAINER/FOLDER (Azure). With -, the rows go to stdout.',
      ),
      ...fieldFlags.map(({ option }) => option),
      flag(
        '--name <name>',
        'Name of the export (default: export). If FILE contains several exports, the name selects one of them.',
      ),
      flag('-n, --namespace <namespace>', 'Namespace for manifests that do not specify one (default: "default").'),
      flag(
        '--volume <name=dir>',
        'Use the directory DIR as the volume NAME, to which the export in FILE writes. Can be repeated.',
        volumeFlag,
      ),
      flag('--secret <file>', 'File with Secrets. Repeatable.', fileList),
    ],
    // If stderr is not a terminal, the log contains no warnings by default, because they would repeat lines of the live
    // view.
    outputFlags: ({ stderr }) => logFlags(stderr.isTTY ? 'warn' : 'error'),
    help: `
Prints the address of the manifest to stdout. After an interruption, run
the same command again: it exports the missing intervals. Use absolute times,
because -24h is a different time range at each start.
With -o -, the rows are printed from oldest to newest, once the export is proven
to be complete. With --incomplete-policy Keep, they are printed even if the
export is incomplete.
Data newer than --settle-delay is searched later, so an export --to now waits.
The credentials of the service come from a Secret in FILE or --secret, or from
the environment variables LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID,
LOGFLEET_ACCESS_KEY and LOGFLEET_CA_FILE.
The credentials of a store come from a Secret that the manifest names, or from
environment variables such as AWS_ACCESS_KEY_ID, AZURE_STORAGE_KEY or
GOOGLE_APPLICATION_CREDENTIALS.
`,
    examples: [
      'export errors.yaml --volume exports=/srv/exports',
      'export --query error --from -24h --to now -o ./errors',
      'export --query error --from -1h --to -5m --format csv -o - | head',
    ],
    check: refuseMixedForms,
    load: async () => (await import('./export/export.ts')).exportCommand,
  },
  {
    name: 'verify',
    description:
      'Read the files of an export, and check them against the list of files in its manifest.json. Writes nothing.',
    arguments: [
      new Argument(
        '<MANIFEST>',
        'The manifest.json of an export, or the folder that contains it. Write a path or an address (s3://…, gs://… or https://…). A local folder may contain several exports.',
      ),
    ],
    flags: [
      flag(
        '--schedule',
        'Verify all runs of a schedule. For MANIFEST, write the folder of the schedule, such as /srv/exports/logging/errors.',
      ),
      flag('--manifests-only', 'Do not read the data files of the runs. Needs --schedule.'),
      flag(
        '--from <time>',
        'Start of the time range that the runs must cover (default: the start of the schedule). A time without an offset is in UTC. Needs --schedule.',
      ),
      flag(
        '--to <time>',
        'End of the time range that the runs must cover (default: the end of the last run). A time without an offset is in UTC. Needs --schedule.',
      ),
      ...storeFlags().map(({ option }) => option),
      oneOf('-o, --output <format>', 'Format: a table of checks, or JSON.', ['table', 'json'], 'table'),
    ],
    help: `
The exit status is 0 if the export is complete and its files match the manifest,
and 1 if something differs or is incomplete. With --schedule, 0 means that the
runs cover the time range without gaps or overlaps.
Credentials for object stores come from the environment:
- s3://: AWS_ACCESS_KEY_ID and similar variables, files, or roles.
- https://: AZURE_STORAGE_KEY and similar variables, an Azure identity, or
  az login.
- gs://: Application Default Credentials of Google Cloud, such as the file that
  GOOGLE_APPLICATION_CREDENTIALS names.
`,
    examples: [
      'verify /srv/exports',
      'verify s3://audit/logs/prod/errors/3f2a… --region eu-central-1',
      'verify --schedule /srv/exports/logging/errors --manifests-only',
    ],
    check: checkVerifyFlags,
    load: async (command) =>
      command.opts<VerifyOptions>().schedule
        ? (await import('./verify/verify-schedule.ts')).verifyScheduleCommand
        : (await import('./verify/verify.ts')).verifyCommand,
  },
  {
    name: 'manifests',
    description: 'Print the manifests that install the operator.',
    flags: [
      flag(
        '-n, --namespace <namespace>',
        'Namespace of the operator (default: the first of --namespaces or, without --namespaces, logfleet).',
      ),
      flag(
        '--namespaces <a,b>',
        'Namespaces that the operator may act on, separated by commas (default: all).',
        nameList,
      ),
      flag('--secrets <a,b>', 'Secrets that the operator may read, separated by commas (default: all).', nameList),
      flag(
        '--image <image>',
        'Container image of the operator (default: the image in manifests/base/deployment.yaml).',
      ),
      flag(
        '--notification-secret <name>',
        'Let the operator send notifications to the webhook whose URL is in this Secret. Adds the permission to read it.',
      ),
      flag(
        '--export-jobs',
        'Let exports run in Kubernetes Jobs. This adds the permissions that the Jobs need, and the image of their pods.',
      ),
    ],
    examples: ['manifests | kubectl apply -f -', 'manifests --namespaces team-a,team-b | kubectl apply -f -'],
    load: async () => (await import('./manifests.ts')).manifestsCommand,
  },
  {
    name: 'crds',
    description: 'Print the CustomResourceDefinitions.',
    examples: ['crds | kubectl apply -f -'],
    load: async () => (await import('./manifests.ts')).crdsCommand,
  },
  {
    name: 'version',
    description: 'Print the versions of the program and of the operator in the cluster. Warn if they differ.',
    flags: [
      ...clusterFlags,
      flag('--client', 'Print only the version of the program.'),
      flag(
        '--operator-namespace <namespace>',
        'Namespace of the operator (default: all namespaces with a running operator or, if none is running, all namespaces with the Lease of an operator).',
      ),
    ],
    examples: ['version', 'version --client'],
    load: async () => (await import('./version.ts')).versionCommand,
  },
  {
    name: 'completion',
    description: 'Print a script that lets a shell complete commands and flags.',
    arguments: [new Argument('<SHELL>', 'Shell that the script is for.').choices(['bash', 'zsh', 'fish'])],
    examples: ['completion bash', 'completion fish | source'],
    load: async (_, program) => {
      const { completionCommand } = await import('./completion.ts');
      return (shell: Shell, _: object, context: CommandContext) => completionCommand(program, shell, context);
    },
  },
];
