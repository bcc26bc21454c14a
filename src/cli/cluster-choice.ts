/** The cluster that the flags of a command name, or that kubectl would take; and, where there is none, what works without one. */
import { resolve } from 'node:path';
import { LogfleetError } from '../base/errors.ts';
import { hasCode } from '../host/kubernetes/api-error.ts';
import { type ClusterConnection, connectToCluster } from '../host/kubernetes/cluster-connection.ts';
import type { ClusterOptions } from './options.ts';
import { readPlainCluster } from './plain-cluster.ts';

/** `instead` goes on from "name one with …; without a cluster,". */
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
      message: `${message}; name one with --kubeconfig FILE. Without a cluster, ${instead}`,
      cause: error,
    });
  }
}
