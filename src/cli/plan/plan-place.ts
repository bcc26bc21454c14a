/**
 * Opens the directory or cluster from which `logfleet plan` reads existing resources. Without either, the plan assumes
 * that no resources exist. Nothing is written. If the user lacks permission to read some of the resources, a warning is
 * printed.
 */
import type { CollectorVersionPolicy, ResourceOf } from '../../api/kinds.ts';
import { hasCode } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { defaultNamespace } from '../../host/directory/manifest-decoding.ts';
import type { LedgerStore, OperatorSettings, ResourceKey } from '../../host/host.ts';
import type { CommandContext } from '../command/context.ts';
import type { PlanOptions } from '../command/options.ts';
import { noPlace, type ResourcePlace } from '../resources/given-manifests.ts';
import { openResources } from '../resources/resource-access.ts';

/**
 * Kinds whose resources are planned one by one. Policies are planned together, because they can select the same
 * collectors.
 */
export type PlannedKind = 'SearchExport' | 'SearchExportSchedule';

const nouns: Readonly<Record<PlannedKind, string>> = { SearchExport: 'export', SearchExportSchedule: 'schedule' };

export interface PlanPlace extends ResourcePlace {
  /** Returns the existing export or schedule with its status, or undefined if it does not exist. */
  find<K extends PlannedKind>(kind: K, key: ResourceKey): Promise<ResourceOf<K> | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  settings(): OperatorSettings;
}

type PlaceOptions = Omit<PlanOptions, 'output'>;

export type OpenPlace = (options: PlaceOptions, context: CommandContext) => Promise<PlanPlace>;

export const nowhere: PlanPlace = {
  ...noPlace,
  find: async () => undefined,
  ledgers: { read: async () => undefined },
  settings: () => ({}),
};

const instead = 'select a directory of manifests with --dir DIR, or plan without the flags that select a cluster';

export const openPlace: OpenPlace = async (options, context) => {
  const { dir, namespace: selected, kubeconfig, context: contextName, allNamespaces } = options;
  const isPlaceGiven = [dir, selected, kubeconfig, contextName].some((flag) => flag !== undefined) || allNamespaces;
  if (!isPlaceGiven) return nowhere;
  const reader = await openResources(options, context, instead);
  const namespace = selected ?? reader.defaultNamespace ?? defaultNamespace;
  /**
   * Returns the result of `read`. If the user lacks permission to read, prints `warning`, and returns the result of
   * `otherwise`.
   */
  const ifAllowed = <T>(read: Promise<T>, warning: string, otherwise: () => T | Promise<T>): Promise<T> =>
    read.catch((error: unknown) => {
      if (!hasCode(error, 'host.forbidden')) throw error;
      context.stderr.write(`warning: ${warning}\n`);
      return otherwise();
    });
  const list = async (scope?: string) =>
    (await reader.list('CollectorVersionPolicy', scope)) as readonly CollectorVersionPolicy[];
  const onlyHere = `you do not have permission to list the policies of all namespaces, so the plan ignores policies outside namespace ${namespace} that select the same collectors`;
  return {
    namespace,
    // The policies in all namespaces are needed, because a policy in another namespace can select the same collectors.
    policies: () => (allNamespaces ? list() : ifAllowed(list(), onlyHere, () => list(namespace))),
    find: async <K extends PlannedKind>(kind: K, key: ResourceKey) => {
      const noun = nouns[kind];
      const warning = `you do not have permission to read the ${noun} ${keyText(key)}, so the plan treats it as a new ${noun}`;
      return (await ifAllowed(reader.get(kind, key), warning, () => undefined)) as ResourceOf<K> | undefined;
    },
    ledgers: {
      read: (owner, shard) => {
        const warning = `you do not have permission to read the ledger (stored rollout state) of the policy ${keyText(owner)}, so the plan ignores the ledger`;
        return ifAllowed(reader.ledgers.read(owner, shard), warning, () => undefined);
      },
    },
    secrets: reader.secrets,
    takesVariables: reader.isDirectory,
    // In a cluster, the plan ignores a pause of the whole operator. The cluster can have several operators, and `plan`
    // has no flag that selects one of them.
    settings: () => reader.pauseOfAll?.() ?? {},
    close: () => reader.close(),
  };
};
