/**
 * Opens the source from which `logfleet plan` reads existing resources: a directory, a cluster, or neither. Only reads.
 * Prints a warning if the user lacks the permission to read some resources.
 */
import { renderFinding } from '../../api/finding.ts';
import type { CollectorVersionPolicy, ResourceOf } from '../../api/kinds.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { LedgerStore, OperatorSettings, ResourceKey } from '../../host/host.ts';
import { hasCode } from '../../host/kubernetes/api-error.ts';
import type { CommandContext } from '../command/context.ts';
import type { PlanOptions } from '../command/options.ts';
import type { ClusterReader } from '../resources/cluster-access.ts';
import { openView } from '../resources/directory-access.ts';
import { noPlace, type ResourcePlace } from '../resources/given-manifests.ts';

/** Kinds of resources that are planned one by one. */
export type PlannedKind = 'SearchExport' | 'SearchExportSchedule';

const nouns: Readonly<Record<PlannedKind, string>> = { SearchExport: 'export', SearchExportSchedule: 'schedule' };

export interface PlanPlace extends ResourcePlace {
  /** Returns the existing export or schedule with its status. Undefined if the export or schedule does not exist. */
  find<K extends PlannedKind>(kind: K, key: ResourceKey): Promise<ResourceOf<K> | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  settings(): OperatorSettings;
}

type PlaceOptions = Omit<PlanOptions, 'output'>;

export type OpenPlace = (options: PlaceOptions, context: CommandContext) => Promise<PlanPlace>;

export const openPlace: OpenPlace = async (options, context) => {
  if (options.dir !== undefined) return placeInDirectory(options.dir, options.namespace, context);
  const { namespace, kubeconfig, context: contextName, allNamespaces } = options;
  const namesCluster = [namespace, kubeconfig, contextName].some((flag) => flag !== undefined) || allNamespaces;
  if (!namesCluster) return nowhere;
  const { openCluster } = await import('../resources/cluster-access.ts');
  const instead = 'name a directory of manifests with --dir DIR, or plan without the flags that select a cluster';
  return placeInCluster(await openCluster(options, context, instead), options, context);
};

export const nowhere: PlanPlace = {
  ...noPlace,
  find: async () => undefined,
  ledgers: { read: async () => undefined },
  settings: () => ({}),
};

/** Opens a directory of manifests. Warns about unusable manifests, whose policies are not planned. */
async function placeInDirectory(
  dir: string,
  namespace = defaultNamespace,
  context: CommandContext,
): Promise<PlanPlace> {
  const { view } = await openView(dir, context);
  for (const problem of view.problems()) {
    if (problem.severity === 'error') context.stderr.write(`${renderFinding(problem)}\n`);
  }
  return {
    ...nowhere,
    namespace,
    policies: async () => [...view.resources('CollectorVersionPolicy').list()],
    find: async (kind, key) => view.resources(kind).get(key),
    ledgers: view.ledgers,
    secrets: { get: async (key) => view.secret(key) },
    settings: () => view.settings(),
  };
}

/**
 * Opens a cluster. A cluster can have several operators, and `plan` has no flag that selects one. So the plan ignores a
 * pause of the whole operator.
 */
function placeInCluster(reader: ClusterReader, options: PlaceOptions, context: CommandContext): PlanPlace {
  const namespace = options.namespace ?? reader.defaultNamespace;
  const { ledgers } = reader;
  /**
   * Reads from the cluster. If the user lacks the permission, prints the warning and returns the result of `instead`.
   */
  const ifAllowed = <T>(read: Promise<T>, warning: string, instead: () => T | Promise<T>): Promise<T> =>
    read.catch((error: unknown) => {
      if (!hasCode(error, 'host.forbidden')) throw error;
      context.stderr.write(`warning: ${warning}\n`);
      return instead();
    });
  const list = async (scope?: string) =>
    (await reader.list('CollectorVersionPolicy', scope)) as readonly CollectorVersionPolicy[];
  const onlyHere = `you have no permission to list the policies of all namespaces, so the plan ignores policies outside namespace ${namespace} that select the same collectors`;
  return {
    ...nowhere,
    namespace,
    // Policies of all namespaces are needed, because a policy in another namespace can select the same collectors.
    policies: () => (options.allNamespaces ? list() : ifAllowed(list(), onlyHere, () => list(namespace))),
    find: async <K extends PlannedKind>(kind: K, key: ResourceKey) => {
      const noun = nouns[kind];
      const warning = `you have no permission to read the ${noun} ${key.namespace}/${key.name}, so the plan treats it as a new ${noun}`;
      return (await ifAllowed(reader.get(kind, key), warning, () => undefined)) as ResourceOf<K> | undefined;
    },
    ledgers: {
      read: (owner, shard) => {
        const warning = `you have no permission to read the ledger of the policy ${owner.namespace}/${owner.name}, so the policy is planned without its ledger`;
        return ifAllowed(ledgers.read(owner, shard), warning, () => undefined);
      },
    },
    secrets: reader.secrets,
    takesVariables: false,
    close: () => reader.close(),
  };
}
