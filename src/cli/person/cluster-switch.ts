/**
 * Pauses and resumes the operator in a cluster, through the ConfigMap `logfleet-settings` in the operator's namespace.
 * Prints a warning if the namespace in `--operator-namespace` has no Lease of an operator.
 */

import { pausedMember, readPause, settingsName } from '../../api/operator-settings.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { hasCode } from '../../base/errors.ts';
import { noMetrics } from '../../base/metrics.ts';
import { isRecord } from '../../base/record.ts';
import { shellWord } from '../../base/shell-word.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { objectPath, operatorLeaseName } from '../../host/kubernetes/api-paths.ts';
import type { CommandContext } from '../command/context.ts';
import type { PauseOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { renderTargetFlags } from '../render/next-steps.ts';
import { idleClusterNote, ignoredWarnings, listOperators } from '../resources/operator-version.ts';
import { chooseCluster } from '../resources/plain-cluster.ts';

export async function openClusterSwitch(options: PauseOptions, context: CommandContext): Promise<OperatorSwitch> {
  const { api } = await chooseCluster(options, context.cwd, 'for a directory of manifests, use --dir DIR');
  const client = new ApiClient({ api, clock: systemClock, metrics: noMetrics, signal: context.signal });
  try {
    return await findSwitch(client, options, context);
  } catch (error) {
    await client.close();
    throw error;
  }
}

/**
 * Finds the namespace of the operator, and returns functions that pause and resume this operator. Throws a `UsageError`
 * if there are several candidates.
 */
export async function findSwitch(
  client: ApiClient,
  { operatorNamespace, kubeconfig, context: contextName }: PauseOptions,
  context: Pick<CommandContext, 'stderr'>,
  clock: Clock = systemClock,
): Promise<OperatorSwitch> {
  const namespace = operatorNamespace ?? (await namespaceOfOperator(client, context, clock));
  if (operatorNamespace !== undefined && !(await hasLease(client, namespace))) {
    context.stderr.write(
      `warning: namespace ${namespace} has no Lease of a logfleet operator, so the command may have no effect\n`,
    );
  }
  const cluster = renderTargetFlags({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(contextName === undefined ? {} : { context: contextName }),
  });
  return {
    scope: `of the operator in namespace ${namespace}`,
    flags: `${cluster} --operator-namespace ${shellWord(namespace)}`,
    pausedBy: () => pausedBy(client, namespace),
    set: (paused) => write(client, namespace, paused),
    idleNote: () => idleClusterNote(client, clock, namespace),
    close: () => client.close(),
  };
}

async function namespaceOfOperator(
  client: ApiClient,
  { stderr }: Pick<CommandContext, 'stderr'>,
  clock: Clock,
): Promise<string> {
  const advice = 'set the namespace of the operator with --operator-namespace NAMESPACE';
  const found = await listOperators(client, clock).catch((error: unknown) => {
    if (!hasCode(error, 'host.forbidden')) throw error;
    throw new UsageError(
      `you do not have permission to list the Leases of all namespaces, which show where operators run; ${advice}`,
    );
  });
  stderr.write(ignoredWarnings(found));
  const namespaces = found.operators.map(({ namespace }) => namespace);
  const [namespace, ...others] = namespaces;
  if (namespace === undefined) throw new UsageError(`the cluster has no Lease of a logfleet operator; ${advice}`);
  if (others.length === 0) return namespace;
  throw new UsageError(
    `the namespaces ${namespaces.join(' and ')} each have an operator; select one of them with --operator-namespace`,
  );
}

/** Returns true if the namespace has the Lease of an operator, or if the user has no permission to read Leases. */
async function hasLease(client: ApiClient, namespace: string): Promise<boolean> {
  try {
    return (await client.find(objectPath('leases', namespace, operatorLeaseName))) !== undefined;
  } catch (error) {
    if (hasCode(error, 'host.forbidden')) return true;
    throw error;
  }
}

async function pausedBy(client: ApiClient, namespace: string): Promise<string | undefined> {
  const configMap = await client.find(objectPath('configmaps', namespace, settingsName));
  const data = isRecord(configMap) && isRecord(configMap.data) ? configMap.data : {};
  return readPause(data[pausedMember]) && `the ConfigMap ${settingsName} in namespace ${namespace}`;
}

/** Sets `paused` in the operator's ConfigMap. Creates the ConfigMap if it is missing. */
async function write(client: ApiClient, namespace: string, paused: boolean): Promise<void> {
  const metadata = { name: settingsName, namespace };
  await client.call({
    method: 'PATCH',
    path: objectPath('configmaps', namespace, settingsName),
    // With `force`, the patch also overwrites a key that another field manager owns.
    query: { fieldManager: 'logfleet-cli', force: 'true' },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [pausedMember]: String(paused) } },
  });
}

/** Pauses and resumes the whole operator, by writing a ConfigMap in a cluster or a request file in a directory. */
export interface OperatorSwitch {
  /** Location of the resources, as text that follows "everything" in messages, such as `in ./policies`. */
  readonly scope: string;
  /** Flags that select the same operator for another command. Each flag is preceded by a space. */
  readonly flags: string;
  /**
   * Returns the cause of the pause, as text that follows "paused by". Returns undefined if the operator is not paused.
   */
  pausedBy(): Promise<string | undefined>;
  set(paused: boolean): Promise<void>;
  /**
   * Returns a warning if no operator process is working in the namespace or directory. Returns no warning if this is
   * unknown.
   */
  idleNote(): Promise<string | undefined>;
  close(): Promise<void>;
}
