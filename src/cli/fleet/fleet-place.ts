/**
 * Opens the source from which `logfleet fleet` reads policies and Secrets: a cluster, a directory, or only the
 * environment variables.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { CommandContext } from '../command/context.ts';
import type { TargetOptions } from '../command/options.ts';
import { openView, warnOfErrors } from '../resources/directory-access.ts';
import { noPlace, type ResourcePlace } from '../resources/given-manifests.ts';

export interface FleetPlace extends ResourcePlace {
  /** Name of the cluster or directory for messages. Undefined if the command uses neither. */
  readonly label: string | undefined;
}

export type OpenFleetPlace = (options: TargetOptions, context: CommandContext) => Promise<FleetPlace>;

export const openFleetPlace: OpenFleetPlace = async (options, context) => {
  const { dir, namespace, kubeconfig, context: contextName } = options;
  if (dir !== undefined) return placeInDirectory(dir, namespace, context);
  const namesCluster = [namespace, kubeconfig, contextName].some((flag) => flag !== undefined);
  return namesCluster ? placeInCluster(options, context) : { ...noPlace, label: undefined };
};

async function placeInDirectory(
  dir: string,
  namespace: string | undefined,
  context: CommandContext,
): Promise<FleetPlace> {
  const { view } = await openView(dir, context);
  warnOfErrors(dir, view, context);
  const isSelected = ({ metadata }: CollectorVersionPolicy) =>
    namespace === undefined || metadata.namespace === namespace;
  return {
    ...noPlace,
    label: dir,
    namespace: namespace ?? defaultNamespace,
    policies: async () => [...view.resources('CollectorVersionPolicy').list()].filter(isSelected),
    secrets: { get: async (key) => view.secret(key) },
  };
}

async function placeInCluster(options: TargetOptions, context: CommandContext): Promise<FleetPlace> {
  const { openCluster } = await import('../resources/cluster-access.ts');
  const instead =
    'name a directory of manifests with --dir DIR, or remove -n, --kubeconfig and --context to use the credentials in environment variables';
  const reader = await openCluster(options, context, instead);
  const namespace = options.namespace ?? reader.defaultNamespace;
  return {
    label: `namespace ${namespace} of ${reader.place}`,
    namespace,
    policies: async () => (await reader.list('CollectorVersionPolicy', namespace)) as readonly CollectorVersionPolicy[],
    secrets: reader.secrets,
    takesVariables: false,
    close: () => reader.close(),
  };
}
