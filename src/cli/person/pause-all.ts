/**
 * `logfleet pause --all` and `logfleet resume --all`: pause and resume the whole operator. A pause does not stop upgrades in flight,
 * because the log service cannot cancel them.
 */

import { systemClock } from '../../base/clock.ts';
import { writeSettingsRequest } from '../../host/directory/requests.ts';
import { type CommandContext, exitStatus } from '../context.ts';
import type { PauseOptions } from '../options.ts';
import { targetFlags } from '../render/next-steps.ts';
import { currentUser, idleNoteOf, openView } from '../resources/directory-access.ts';
import type { OperatorSwitch } from './cluster-switch.ts';

export async function pauseAllCommand(
  paused: boolean,
  options: PauseOptions,
  context: CommandContext,
  open: OpenSwitch = openSwitch,
): Promise<number> {
  const operator = await open(options, context);
  try {
    const { report, status } = paused ? await pauseAll(operator) : await resumeAll(operator);
    context.stdout.write(`everything ${operator.scope}: ${report}\n`);
    const idle = await operator.idleNote?.();
    if (idle !== undefined) context.stderr.write(`${idle}\n`);
    return status;
  } finally {
    await operator.close();
  }
}

interface Outcome {
  /** Result of the command, which is printed after words such as "everything in ./policies: ". */
  readonly report: string;
  readonly status: number;
}

async function pauseAll(operator: OperatorSwitch): Promise<Outcome> {
  const before = await operator.pausedBy();
  if (before === undefined) await operator.set(true);
  const state = before === undefined ? 'paused' : `was already paused by ${before}`;
  const report = `${state}; upgrades and searches in flight continue to their end. To resume: logfleet resume --all${operator.flags}`;
  return { report, status: exitStatus.ok };
}

/** Resumes the whole operator. Fails if a manifest pauses it, because the command does not change manifests, which may be in Git. */
async function resumeAll(operator: OperatorSwitch): Promise<Outcome> {
  if ((await operator.pausedBy()) === undefined) return { report: 'was not paused.', status: exitStatus.ok };
  await operator.set(false);
  const still = await operator.pausedBy();
  if (still === undefined) return { report: 'resumed.', status: exitStatus.ok };
  return { report: `still paused by ${still}. Change it to resume.`, status: exitStatus.failed };
}

type OpenSwitch = (options: PauseOptions, context: CommandContext) => Promise<OperatorSwitch>;

const openSwitch: OpenSwitch = async (options, context) => {
  if (options.dir !== undefined) {
    return openDirectorySwitch(options.dir, context);
  }
  const { openClusterSwitch } = await import('./cluster-switch.ts');
  return openClusterSwitch(options, context);
};

async function openDirectorySwitch(dir: string, context: CommandContext): Promise<OperatorSwitch> {
  const { directory, view } = await openView(dir, context);
  return {
    scope: `in ${dir}`,
    flags: targetFlags({ dir }),
    pausedBy: async () => {
      await view.refresh();
      return view.settings().pausedBy;
    },
    set: (paused) => writeSettingsRequest(directory, paused, { by: currentUser(), atMs: systemClock.now() }),
    idleNote: () => idleNoteOf(dir, directory),
    close: async () => {},
  };
}
