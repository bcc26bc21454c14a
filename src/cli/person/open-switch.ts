/** Opens the switch of a directory of manifests, or of a cluster (`cluster-switch.ts`). */
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { DirectoryView } from '../../host/directory/directory-view.ts';
import { writeSettingsRequest } from '../../host/directory/requests.ts';
import type { CommandContext } from '../context.ts';
import type { PauseOptions } from '../options.ts';
import { currentUser, existingDirectory, idleNoteOf } from '../resources/directory-access.ts';
import { targetFlags } from '../resources/target-flags.ts';
import type { OperatorSwitch } from './operator-switch.ts';

export type OpenSwitch = (options: PauseOptions, context: CommandContext) => Promise<OperatorSwitch>;

/** Opens the directory of `--dir`, or else the cluster of the kubeconfig. */
export const openSwitch: OpenSwitch = async (options, context) => {
  if (options.dir !== undefined) {
    return openDirectorySwitch(options.dir, context);
  }
  const { openClusterSwitch } = await import('./cluster-switch.ts');
  return openClusterSwitch(options, context);
};

interface DirectorySwitchPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly user: () => string | undefined;
}

async function openDirectorySwitch(
  dir: string,
  context: CommandContext,
  { clock, random, user }: DirectorySwitchPorts = { clock: systemClock, random: systemRandom, user: currentUser },
): Promise<OperatorSwitch> {
  const directory = await existingDirectory(dir, context);
  const view = await DirectoryView.open({ directories: [directory], clock, random });
  return {
    whose: `in ${dir}`,
    flags: targetFlags({ dir }),
    pausedBy: async () => {
      await view.refresh();
      return view.settings().pausedBy;
    },
    set: (paused) => writeSettingsRequest(directory, paused, { by: user(), atMs: clock.now() }),
    idleNote: () => idleNoteOf(dir, directory),
    close: async () => {},
  };
}
