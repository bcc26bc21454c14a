/**
 * Reads the versions of the operators in a cluster from their Leases, and compares them with the version of this program. The
 * leader writes its version to the Lease as an annotation, so the version belongs to the process that is the leader.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import { noMetrics } from '../base/metrics.ts';
import { isRecord } from '../base/record.ts';
import { compareText } from '../base/text-order.ts';
import { ApiClient } from '../host/kubernetes/api-client.ts';
import { objectPath, operatorLeaseName, operatorVersionAnnotation } from '../host/kubernetes/api-paths.ts';
import { readPage } from '../host/kubernetes/reflector.ts';
import type { CommandContext } from './context.ts';
import type { ClusterOptions, VersionOptions } from './options.ts';
import { printable } from './render/text.ts';
import { chooseCluster } from './resources/plain-cluster.ts';

export interface OperatorVersion {
  readonly namespace: string;
  /** Version that the last leader wrote. Undefined if no leader has written its version yet. */
  readonly version: string | undefined;
}

/** Maximum time in ms to wait for the API server. */
const deadlineMs = 3_000;

/**
 * Returns whether a cluster is configured: by a flag, an environment variable, a kubeconfig in the home directory, or a pod. Only checks
 * whether a kubeconfig exists, because reading it takes longer.
 */
export function namesCluster({ kubeconfig, context }: ClusterOptions, env: CommandContext['env']): boolean {
  const named = [kubeconfig, context, env['KUBECONFIG'], env['KUBERNETES_SERVICE_HOST']];
  return named.some(Boolean) || existsSync(path.join(env['HOME'] || homedir(), '.kube/config'));
}

/**
 * Prints the version of each operator, and warns about each version that differs too much. If the cluster cannot be read, prints
 * a message instead of rejecting.
 */
export async function printOperatorVersions(
  options: VersionOptions,
  own: string,
  context: CommandContext,
  open: () => Promise<ApiClient> = () => openClient(options, context),
): Promise<void> {
  const { stdout, stderr } = context;
  let operators: readonly OperatorVersion[];
  try {
    const client = await open();
    operators = await listOperators(client, options.operatorNamespace, { deadlineMs }).finally(() => client.close());
  } catch (error) {
    if (!(error instanceof LogfleetError) || error.handling.kind === 'bug') throw error;
    if (error.code !== 'host.noCluster') stderr.write(`${describeUnknown(error)}\n`);
    return;
  }
  for (const { namespace, version = 'unknown' } of operators) {
    stdout.write(`operator ${printable(version)} in namespace ${printable(namespace)}\n`);
    const warning = skewWarning(own, { namespace, version });
    if (warning !== undefined) stderr.write(`${warning}\n`);
  }
}

async function openClient(options: VersionOptions, { cwd }: CommandContext): Promise<ApiClient> {
  const { api } = await chooseCluster(options, cwd, 'use --client to print only the version of the program');
  return new ApiClient({ api, clock: systemClock, metrics: noMetrics });
}

/** Lists operators by their Leases, in a namespace or in all of them, sorted by namespace. */
export async function listOperators(
  client: ApiClient,
  namespace?: string,
  call: { readonly deadlineMs?: number } = {},
): Promise<readonly OperatorVersion[]> {
  const path = objectPath('leases', namespace);
  const query = { fieldSelector: `metadata.name=${operatorLeaseName}` };
  const { items } = readPage(await client.find(path, { ...call, query }), path);
  const found = items.flatMap((item) => (isRecord(item) && isRecord(item.metadata) ? versionIn(item.metadata) : []));
  return found.sort((left, right) => compareText(left.namespace, right.namespace));
}

function versionIn({ namespace, annotations }: Readonly<Record<string, unknown>>): OperatorVersion {
  const version = isRecord(annotations) ? annotations[operatorVersionAnnotation] : undefined;
  return { namespace: String(namespace), version: typeof version === 'string' ? version : undefined };
}

function describeUnknown(error: LogfleetError): string {
  if (error.code !== 'host.forbidden') return `The version of the operator is unknown: ${error.message}`;
  return 'The version of the operator is unknown, because you have no permission to list its Lease. Name its namespace with --operator-namespace, or ask for the ClusterRole view there.';
}

/** Returns a warning if the major or minor versions differ. Undefined for equal and for unknown versions. */
function skewWarning(own: string, { namespace, version = '' }: OperatorVersion): string | undefined {
  const [ours, theirs] = [minorVersion(own), minorVersion(version)];
  if (ours === undefined || theirs === undefined || ours === theirs) return undefined;
  return (
    `warning: the operator in namespace ${namespace} has version ${version}, and this program has version ${own}. ` +
    `validate and plan may judge manifests differently than the operator. Install logfleet ${theirs} on this machine, or upgrade the operator.`
  );
}

/** Returns the major and minor version, such as `0.1` for `0.1.4`. Undefined if the text is no version. */
function minorVersion(version: string): string | undefined {
  return /^(\d+\.\d+)\.\d+/.exec(version)?.[1];
}
