/**
 * `PlanPlace` on an API server, with the rights of whoever types the command. Where these do not reach as far as an operator's, it says
 * on stderr what is left out of account. The pause of a whole operator is none of it: which operator that is, nobody says here.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { systemClock } from '../base/clock.ts';
import { noMetrics } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { ApiClient } from '../host/kubernetes/api-client.ts';
import { hasCode } from '../host/kubernetes/api-error.ts';
import { KubernetesLedgerStore } from '../host/kubernetes/ledger-store.ts';
import { KubernetesSecretReader } from '../host/kubernetes/secret-reader.ts';
import { notPaused } from './alone.ts';
import { ClusterReader } from './cluster-access.ts';
import { chooseCluster } from './cluster-choice.ts';
import type { CommandContext } from './context.ts';
import type { PlaceOptions, PlanPlace } from './plan-place.ts';

export async function openPlanCluster(options: PlaceOptions, context: CommandContext): Promise<PlanPlace> {
  const { api, namespace: contextNamespace } = await chooseCluster(
    options,
    context.cwd,
    '--dir DIR names a directory of manifests, and with neither the manifests are all there is',
  );
  const namespace = options.namespace ?? contextNamespace;
  const common = { clock: systemClock, random: systemRandom };
  const place = options.context === undefined ? 'the cluster' : `context ${options.context}`;
  const reader = new ClusterReader({ ...common, api, place, defaultNamespace: namespace });
  const client = new ApiClient({ api, clock: systemClock, metrics: noMetrics });
  const warn = (message: string) => context.stderr.write(`warning: ${message}\n`);
  const ledgers = new KubernetesLedgerStore({ client });
  return {
    namespace,
    policies: () => listPolicies(reader, options.allNamespaces ? undefined : namespace, warn),
    findExport: async (key) => {
      try {
        const resource = await reader.get('SearchExport', key);
        return resource?.kind === 'SearchExport' ? resource : undefined;
      } catch (error) {
        if (!hasCode(error, 'host.forbidden')) throw error;
        warn(`you may not read the export ${key.namespace}/${key.name}; it is planned as if it were a new one`);
        return undefined;
      }
    },
    ledgers: {
      read: async (owner, shard) => {
        try {
          return await ledgers.read(owner, shard);
        } catch (error) {
          if (!hasCode(error, 'host.forbidden')) throw error;
          warn(`you may not read the ledger of ${owner.namespace}/${owner.name}; it is planned as if it had none`);
          return undefined;
        }
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

/**
 * Policies of all namespaces count for overlap.
 * @param namespace what is enough where they may not be listed; undefined where that is not
 */
async function listPolicies(
  reader: ClusterReader,
  namespace: string | undefined,
  warn: (message: string) => void,
): Promise<readonly CollectorVersionPolicy[]> {
  const list = async (scope: string | undefined) => {
    const resources = await reader.list('CollectorVersionPolicy', scope);
    return resources.filter((resource) => resource.kind === 'CollectorVersionPolicy');
  };
  try {
    return await list(undefined);
  } catch (error) {
    if (namespace === undefined || !hasCode(error, 'host.forbidden')) throw error;
    warn(`you may not list the policies of all namespaces; only those of ${namespace} count for overlap`);
    return list(namespace);
  }
}
