/** The descriptions of what people do to resources: `pause`, `resume`, `approve`, `retry`, `abort` and `forget`. */
import type { Command } from 'commander';
import { addTargetOptions, type Ends, example } from './command-parts.ts';
import type { CommandContext } from './context.ts';
import type { ApproveOptions, ForgetOptions, PauseOptions, TargetOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

export function addPersonCommands(program: Command, context: CommandContext, ends: Ends): void {
  addSwitch(program, 'pause', 'start nothing new; what is in flight ends', context, ends);
  addSwitch(program, 'resume', 'go on after a pause', context, ends);
  describe(program, 'approve', 'let a stage begin that waits for a person')
    .option('--stage <name>', 'which one (default: the one that waits for approval)')
    .action((target: string, options: ApproveOptions) =>
      ends(import('./approve.ts').then(({ approveCommand }) => approveCommand(target, options, context))),
    );
  describe(program, 'retry', 'try again what failed, and go on with a rollout that was stopped').action(
    (target: string, options: TargetOptions) =>
      ends(import('./rollout-request.ts').then(({ retryCommand }) => retryCommand(target, options, context))),
  );
  describe(program, 'abort', 'end a rollout: start nothing more in it').action(
    (target: string, options: TargetOptions) =>
      ends(import('./rollout-request.ts').then(({ abortCommand }) => abortCommand(target, options, context))),
  );
  addForget(program, context, ends);
}

function addForget(program: Command, context: CommandContext, ends: Ends): void {
  program
    .command('forget')
    .description('discard the state of a resource whose manifest was deleted from a directory')
    .argument('<KIND/NAME>')
    .requiredOption('--dir <dir>', 'the directory of manifests')
    .option('-n, --namespace <namespace>', 'the namespace (default: the only one with this name)')
    .addHelpText('after', example('logfleet forget cvp/production --dir ./policies'))
    .action((target: string, options: ForgetOptions) =>
      ends(import('./forget.ts').then(({ forgetCommand }) => forgetCommand(target, options, context))),
    );
}

/** `pause` and `resume`, of one resource or of the operator as a whole. */
function addSwitch(
  program: Command,
  name: 'pause' | 'resume',
  description: string,
  context: CommandContext,
  ends: Ends,
): void {
  const examples = [`logfleet ${name} sx/errors -n logging`, `logfleet ${name} --all`];
  const command = describe(program, name, description, '[KIND/NAME]', ...examples)
    .option('--all', 'everything that the operator looks after, in all namespaces')
    .option('--operator-namespace <namespace>', 'with --all: where the operator runs (default: where its lease is)');
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

/** One resource or all of them; a flag that is for the other would be ignored in silence. */
function refuseMixedTargets(command: Command, target: string | undefined, { all, dir }: PauseOptions): void {
  const given = (attribute: string) => command.getOptionValueSource(attribute) === 'cli';
  const name = command.name();
  if (target === undefined && !all) {
    throw new UsageError(
      `say what: ${name} cvp/production is one policy, ${name} sx/errors one export, ${name} --all is everything`,
    );
  }
  if (target !== undefined && all)
    throw new UsageError(`--all is everything, and ${target} is one: leave one of the two out`);
  if (all && given('namespace')) {
    throw new UsageError(
      '--all is for all namespaces: leave -n out; --operator-namespace says where the operator runs',
    );
  }
  if (given('operatorNamespace') && (!all || dir !== undefined)) {
    throw new UsageError('--operator-namespace is for --all in a cluster: leave it out');
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
