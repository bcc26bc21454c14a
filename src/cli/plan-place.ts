/**
 * Where the resources of a plan stand already: in a directory, in a cluster, or nowhere, when the manifests are all there is. Two
 * adapters stand behind this page, `plan-directory.ts` and `plan-cluster.ts`; the flags say which. All of them only read.
 */
import type { CollectorVersionPolicy, SearchExport } from '../api/kinds.ts';
import { defaultNamespace } from '../host/directory/manifest-decoding.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, SecretReader } from '../host/host.ts';
import { notPaused } from './alone.ts';
import type { CommandContext } from './context.ts';
import type { PlanOptions, TargetOptions } from './options.ts';

export interface PlanPlace {
  /** What a manifest without a namespace means. */
  readonly namespace: string;
  /** As they stand there now, with their status. */
  policies(): Promise<readonly CollectorVersionPolicy[]>;
  /** As it stands there now, with its status; undefined where there is none. */
  findExport(key: ResourceKey): Promise<SearchExport | undefined>;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** Whether the variables of the environment stand in for Secrets that are not there. */
  readonly takesVariables: boolean;
  settings(): OperatorSettings;
  close(): Promise<void>;
}

export type PlaceOptions = TargetOptions & Pick<PlanOptions, 'allNamespaces'>;

export type OpenPlace = (options: PlaceOptions, context: CommandContext) => Promise<PlanPlace>;

export const openPlace: OpenPlace = async (options, context) => {
  const { dir, namespace, kubeconfig, context: contextName, allNamespaces = false } = options;
  if (dir !== undefined) {
    const { openPlanDirectory } = await import('./plan-directory.ts');
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
