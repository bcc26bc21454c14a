/** `OperatorSwitch` of a directory of manifests: a request beside them, which the manifests may overrule. */
import { type Clock, systemClock } from '../base/clock.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { DirectoryView } from '../host/directory/directory-view.ts';
import { writeSettingsRequest } from '../host/directory/requests.ts';
import type { CommandContext } from './context.ts';
import { currentUser } from './current-user.ts';
import { existingDirectory, idleNoteOf } from './directory-access.ts';
import type { OperatorSwitch } from './operator-switch.ts';
import { targetFlags } from './target-flags.ts';

interface DirectorySwitchPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly user: () => string | undefined;
}

export async function openDirectorySwitch(
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
