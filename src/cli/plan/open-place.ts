/**
 * Opens the place that stores existing resources for `logfleet plan`: a directory, a cluster (`plan-cluster.ts`),
 * or nowhere.
 */
import { renderFinding } from '../../api/finding.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { DirectoryView } from '../../host/directory/directory-view.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { CommandContext } from '../context.ts';
import { notPaused } from '../memory-host.ts';
import { existingDirectory } from '../resources/directory-access.ts';
import type { PlaceOptions, PlanPlace } from './plan-cluster.ts';

export type OpenPlace = (options: PlaceOptions, context: CommandContext) => Promise<PlanPlace>;

export const openPlace: OpenPlace = async (options, context) => {
  const { dir, namespace, kubeconfig, context: contextName, allNamespaces = false } = options;
  if (dir !== undefined) {
    return openPlanDirectory(dir, namespace, context);
  }
  const isNowhere = namespace === undefined && kubeconfig === undefined && contextName === undefined;
  if (isNowhere && !allNamespaces) return nowhere;
  const { openPlanCluster } = await import('./plan-cluster.ts');
  return openPlanCluster(options, context);
};

export const nowhere: PlanPlace = {
  namespace: defaultNamespace,
  policies: async () => [],
  findExport: async () => undefined,
  ledgers: { read: async () => undefined },
  secrets: { get: async () => undefined },
  takesVariables: true,
  settings: () => notPaused,
  close: async () => {},
};

/** Warns on stderr about manifests that cannot be used, since the plan leaves out their policies. */
async function openPlanDirectory(
  dir: string,
  namespace: string | undefined,
  context: CommandContext,
): Promise<PlanPlace> {
  const directory = await existingDirectory(dir, context);
  const view = await DirectoryView.open({ directories: [directory], clock: systemClock, random: systemRandom });
  for (const problem of view.problems()) {
    if (problem.severity === 'error') context.stderr.write(`${renderFinding(problem)}\n`);
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
