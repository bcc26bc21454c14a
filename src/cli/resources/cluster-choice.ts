/** Connects to the cluster that the flags name, or to the default cluster of kubectl. */
import { resolve } from 'node:path';
import { LogfleetError } from '../../base/errors.ts';
import { hasCode } from '../../host/kubernetes/api-error.ts';
import { type ClusterConnection, connectToCluster } from '../../host/kubernetes/cluster-connection.ts';
import type { ClusterOptions } from '../options.ts';
import { readPlainCluster } from './plain-cluster.ts';

/** `instead` names the alternative without a cluster, as a clause after "Without a cluster,". */
export async function chooseCluster(
  { kubeconfig, context }: ClusterOptions,
  cwd: string,
  instead: string,
): Promise<ClusterConnection> {
  const chosen = {
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(cwd, kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  };
  try {
    return await connectToCluster({
      ...chosen,
      plain: await readPlainCluster({ ...chosen, environment: process.env }),
    });
  } catch (error) {
    if (!hasCode(error, 'host.noCluster')) throw error;
    const { code, handling, message } = error;
    throw new LogfleetError({
      code,
      handling,
      message: `${message}; name a cluster with --kubeconfig FILE. Without a cluster, ${instead}`,
      cause: error,
    });
  }
}
