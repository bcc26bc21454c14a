/** Flags and help of the commands with which people act on resources: `pause`, `resume`, `approve`, `retry`, `abort` and `forget`. */
import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addTargetOptions, type Ends, example } from '../flags.ts';
import type { ApproveOptions, ForgetOptions, PauseOptions, TargetOptions } from '../options.ts';
import { UsageError } from '../usage-error.ts';

export function addPersonCommands(program: Command, context: CommandContext, ends: Ends): void {
  addSwitch(
    program,
    'pause',
    'Pause: start nothing more. Upgrades and searches in flight end by themselves.',
    context,
    ends,
  );
  addSwitch(program, 'resume', 'Resume after a pause.', context, ends);
  describe(program, 'approve', 'Approve a stage that waits for approval.')
    .option('--stage <name>', 'Name of the stage (default: the stage that waits for approval).')
    .action((target: string, options: ApproveOptions) =>
      ends(import('./approve.ts').then(({ approveCommand }) => approveCommand(target, options, context))),
    );
  describe(program, 'retry', 'Continue a stopped rollout, and retry failed upgrades.').action(
    (target: string, options: TargetOptions) =>
      ends(import('./rollout-request.ts').then(({ retryCommand }) => retryCommand(target, options, context))),
  );
  describe(program, 'abort', 'Abort a rollout: start no more upgrades in it.').action(
    (target: string, options: TargetOptions) =>
      ends(import('./rollout-request.ts').then(({ abortCommand }) => abortCommand(target, options, context))),
  );
  addForget(program, context, ends);
}

function addForget(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('forget')
    .description('Discard the state of a resource whose manifest was deleted from a directory.')
    .argument('<KIND/NAME>')
    .requiredOption('--dir <dir>', 'Directory of manifests.')
    .option('-n, --namespace <namespace>', 'Namespace (default: the only one with this name).')
    .addHelpText('after', example('logfleet forget cvp/production --dir ./policies'))
    .action((target: string, options: ForgetOptions) =>
      ends(import('./forget.ts').then(({ forgetCommand }) => forgetCommand(target, options, context))),
    );
}

/** Adds the command `pause` or `resume`, for one resource or for the whole operator. */
function addSwitch(
  program: Command,
  name: 'pause' | 'resume',
  description: string,
  context: CommandContext,
  ends: Ends,
): void {
  const examples = [`logfleet ${name} sx/errors -n logging`, `logfleet ${name} --all`];
  const command = describe(program, name, description, '[KIND/NAME]', ...examples)
    .option('--all', 'All resources of the operator, in all namespaces.')
    .option('--operator-namespace <namespace>', 'With --all: namespace of the operator (default: that of its lease).');
  command.action((target: string | undefined, options: PauseOptions) => {
    const { all, operatorNamespace: _, ...of } = options;
    refuseMixedTargets(command, target, options);
    if (target !== undefined) {
      return ends(
        import('./pause.ts').then(({ pauseCommand, resumeCommand }) =>
          (name === 'pause' ? pauseCommand : resumeCommand)(target, of, context),
        ),
      );
    }
    return ends(
      import('./pause-all.ts').then(({ pauseAllCommand }) => pauseAllCommand(name === 'pause', options, context)),
    );
  });
}

/** Refuses a resource name together with `--all`, and flags that would otherwise be ignored. */
function refuseMixedTargets(command: Command, target: string | undefined, { all, dir }: PauseOptions): void {
  const given = (attribute: string) => command.getOptionValueSource(attribute) === 'cli';
  const name = command.name();
  if (target === undefined && !all) {
    throw new UsageError(
      `a resource or --all is missing: write ${name} cvp/production for a policy, ${name} sx/errors for an export, or ${name} --all`,
    );
  }
  if (target !== undefined && all)
    throw new UsageError(`--all means all resources, but ${target} is one resource: remove one of them`);
  if (all && given('namespace')) {
    throw new UsageError(
      '--all is for all namespaces: remove -n. The flag --operator-namespace names the namespace of the operator',
    );
  }
  if (given('operatorNamespace') && (!all || dir !== undefined)) {
    throw new UsageError('--operator-namespace is for --all in a cluster: remove it');
  }
}

function describe(
  program: Command,
  name: string,
  description: string,
  target = '<KIND/NAME>',
  ...examples: readonly string[]
): Command {
  return addTargetOptions(program.command(name).description(description).argument(target)).addHelpText(
    'after',
    example(
      `logfleet ${name} cvp/production -n logging`,
      `logfleet ${name} cvp/production --dir ./policies`,
      ...examples,
    ),
  );
}
