/**
 * Opens the source from which `logfleet fleet` reads policies and Secrets: a cluster, a directory, or only the
 * environment variables.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { SecretReader } from '../../host/host.ts';
import type { CommandContext } from '../command/context.ts';
import type { TargetOptions } from '../command/options.ts';
import { openView, warnOfErrors } from '../resources/directory-access.ts';

export interface FleetPlace {
  /** Name of the cluster or directory for messages. Undefined if the command uses neither. */
  readonly label: string | undefined;
  /** Namespace of manifests without a namespace. */
  readonly namespace: string;
  /** Lists the policies of the selected namespace, or of all namespaces of a directory. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if credentials may come from environment variables when the Secret does not exist. */
  readonly takesVariables: boolean;
  close(): Promise<void>;
}

export type OpenFleetPlace = (options: TargetOptions, context: CommandContext) => Promise<FleetPlace>;

export const openFleetPlace: OpenFleetPlace = async (options, context) => {
  const { dir, namespace, kubeconfig, context: contextName } = options;
  if (dir !== undefined) return placeInDirectory(dir, namespace, context);
  const namesCluster = [namespace, kubeconfig, contextName].some((flag) => flag !== undefined);
  return namesCluster ? placeInCluster(options, context) : nowhere;
};

const nowhere: FleetPlace = {
  label: undefined,
  namespace: defaultNamespace,
  policies: async () => [],
  secrets: { get: async () => undefined },
  takesVariables: true,
  close: async () => {},
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
    ...nowhere,
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
