/** `PlanPlace` on a directory of manifests, beside an operator that is at work there or without one. */
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { DirectoryView } from '../host/directory/directory-view.ts';
import { defaultNamespace } from '../host/directory/manifest-decoding.ts';
import { renderProblem } from '../host/directory/problem.ts';
import type { CommandContext } from './context.ts';
import { existingDirectory } from './directory-access.ts';
import type { PlanPlace } from './plan-place.ts';

/** Tells on stderr which manifests cannot be used, since their policies are left out of account. */
export async function openPlanDirectory(
  dir: string,
  namespace: string | undefined,
  context: CommandContext,
): Promise<PlanPlace> {
  const directory = await existingDirectory(dir, context);
  const view = await DirectoryView.open({ directories: [directory], clock: systemClock, random: systemRandom });
  for (const problem of view.problems()) {
    if (problem.severity === 'error') context.stderr.write(`${renderProblem(problem)}\n`);
  }
  return {
    namespace: namespace ?? defaultNamespace,
    policies: async () => [...view.resources('CollectorVersionPolicy').list()],
    findExport: async (key) => view.resources('SearchExport').get(key),
    ledgers: view.ledgers,
    secrets: { get: async (key) => view.secret(key) },
    takesVariables: true,
    settings: () => view.settings(),
    close: async () => {},
  };
}
