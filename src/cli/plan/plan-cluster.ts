/**
 * Reads the existing resources for `logfleet plan` from an API server, with the rights of the user. It warns about
 * everything that the user may not read. A pause of the whole operator is not considered, because no flag names the
 * operator.
 */
import type { CollectorVersionPolicy, SearchExport } from '../../api/kinds.ts';
import { systemClock } from '../../base/clock.ts';
import { noMetrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, SecretReader } from '../../host/host.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { hasCode } from '../../host/kubernetes/api-error.ts';
import { KubernetesLedgerStore } from '../../host/kubernetes/ledger-store.ts';
import { KubernetesSecretReader } from '../../host/kubernetes/secret-reader.ts';
import type { CommandContext } from '../context.ts';
import { notPaused } from '../memory-host.ts';
import type { PlanOptions, TargetOptions } from '../options.ts';
import { ClusterReader } from '../resources/cluster-access.ts';
import { chooseCluster } from '../resources/plain-cluster.ts';

/** Read-only access to the place that stores existing resources. */
export interface PlanPlace {
  /** Namespace of manifests without a namespace. */
  readonly namespace: string;
  /** Returns the existing policies, with their status. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  /** Returns the existing export with its status, or undefined if it does not exist. */
  findExport(key: ResourceKey): Promise<SearchExport | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** True if environment variables replace missing Secrets. */
  readonly takesVariables: boolean;
  settings(): OperatorSettings;
  close(): Promise<void>;
}

export type PlaceOptions = TargetOptions & Pick<PlanOptions, 'allNamespaces'>;

export async function openPlanCluster(options: PlaceOptions, context: CommandContext): Promise<PlanPlace> {
  const { api, namespace: contextNamespace } = await chooseCluster(
    options,
    context.cwd,
    'name a directory of manifests with --dir DIR, or plan the manifests alone with neither flag',
  );
  const namespace = options.namespace ?? contextNamespace;
  const common = { clock: systemClock, random: systemRandom };
  const place = options.context === undefined ? 'the cluster' : `context ${options.context}`;
  const reader = new ClusterReader({ ...common, api, place, defaultNamespace: namespace });
  const client = new ApiClient({ api, clock: systemClock, metrics: noMetrics });
  const warn = (message: string) => context.stderr.write(`warning: ${message}\n`);
  /** Warns and resolves to `instead` if the user may not read something. */
  const ifAllowed = <T>(read: Promise<T>, warning: string, instead: () => T | Promise<T>): Promise<T> =>
    read.catch((error: unknown) => {
      if (!hasCode(error, 'host.forbidden')) throw error;
      warn(`you may not ${warning}`);
      return instead();
    });
  const ledgers = new KubernetesLedgerStore({ client });
  const list = async (scope: string | undefined) => (await reader.list('CollectorVersionPolicy', scope)) as Policies;
  const onlyHere = `list the policies of all namespaces: only the policies of ${namespace} count for overlap`;
  return {
    namespace,
    // Policies of other namespaces can select the same collectors.
    policies: () =>
      options.allNamespaces ? list(undefined) : ifAllowed(list(undefined), onlyHere, () => list(namespace)),
    findExport: async (key) => {
      const warning = `read the export ${key.namespace}/${key.name}: it is planned like a new export`;
      return (await ifAllowed(reader.get('SearchExport', key), warning, () => undefined)) as SearchExport | undefined;
    },
    ledgers: {
      read: (owner, shard) => {
        const warning = `read the ledger of ${owner.namespace}/${owner.name}: the policy is planned without a ledger`;
        return ifAllowed(ledgers.read(owner, shard), warning, () => undefined);
      },
    },
    secrets: new KubernetesSecretReader(client),
    takesVariables: false,
    settings: () => notPaused,
    close: async () => {
      await reader.close();
      await client.close();
    },
  };
}

type Policies = readonly CollectorVersionPolicy[];
