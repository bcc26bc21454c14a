/**
 * Opens the source from which `logfleet fleet` reads policies and Secrets: a cluster, a directory, or only the
 * environment variables.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { CommandContext } from '../command/context.ts';
import type { TargetOptions } from '../command/options.ts';
import { noPlace, type ResourcePlace } from '../resources/given-manifests.ts';
import { openResources } from '../resources/resource-access.ts';

export interface FleetPlace extends ResourcePlace {
  /** Name of the cluster or directory, for messages. Undefined if the command uses neither. */
  readonly label: string | undefined;
}

export type OpenFleetPlace = (options: TargetOptions, context: CommandContext) => Promise<FleetPlace>;

const instead =
  'select a directory of manifests with --dir DIR, or remove -n, --kubeconfig and --context to use the credentials in environment variables';

export const openFleetPlace: OpenFleetPlace = async (options, context) => {
  const { dir, namespace: selected, kubeconfig, context: contextName } = options;
  const isPlaceGiven = [dir, selected, kubeconfig, contextName].some((flag) => flag !== undefined);
  if (!isPlaceGiven) return { ...noPlace, label: undefined };
  const reader = await openResources(options, context, instead);
  const namespace = selected ?? reader.defaultNamespace;
  return {
    label: reader.isDirectory ? reader.place : `namespace ${namespace} of ${reader.place}`,
    namespace: namespace ?? defaultNamespace,
    policies: async () => (await reader.list('CollectorVersionPolicy', namespace)) as readonly CollectorVersionPolicy[],
    secrets: reader.secrets,
    takesVariables: reader.isDirectory,
    close: () => reader.close(),
  };
};
