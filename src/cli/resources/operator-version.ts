/**
 * Reads the versions of the operators in a cluster. The leader of each operator writes its version to an annotation of
 * its Lease. The Lease also shows whether an operator process is running.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { isExpected, type LogfleetError } from '../../base/errors.ts';
import { noMetrics } from '../../base/metrics.ts';
import { isRecord, type JsonObject } from '../../base/record.ts';
import { shellWord } from '../../base/shell-word.ts';
import { compareText } from '../../base/text-order.ts';
import { isoSeconds } from '../../base/time-text.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { objectPath, operatorLeaseName, operatorVersionAnnotation } from '../../host/kubernetes/api-paths.ts';
import { decodeListPage } from '../../host/kubernetes/reflector.ts';
import type { CommandContext } from '../command/context.ts';
import type { ClusterOptions, VersionOptions } from '../command/options.ts';
import { printable } from '../render/text.ts';
import { chooseCluster } from './plain-cluster.ts';

export interface OperatorVersion {
  readonly namespace: string;
  /** Version of the current or last leader. Undefined if the Lease contains no version. */
  readonly version: string | undefined;
  /** Wall-clock time in ms of the last renewal of the Lease. Undefined if no process holds the Lease. */
  readonly renewedMs?: number | undefined;
}

/** Maximum time in ms to wait for the API server. */
const deadlineMs = 3_000;

/**
 * Returns true if a flag, an environment variable, a kubeconfig or a pod selects a cluster. Does not read the
 * kubeconfig.
 */
export function namesCluster({ kubeconfig, context }: ClusterOptions, env: CommandContext['env']): boolean {
  const named = [kubeconfig, context, env['KUBECONFIG'], env['KUBERNETES_SERVICE_HOST']];
  return named.some(Boolean) || existsSync(path.join(env['HOME'] || homedir(), '.kube/config'));
}

/**
 * Prints the version of each operator, and warns if its major or minor version differs from this program's version. If
 * the cluster cannot be read, the command still succeeds.
 */
export async function printOperatorVersions(
  options: VersionOptions,
  own: string,
  context: CommandContext,
  open: () => Promise<ApiClient> = () => openClient(options, context),
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<void> {
  const { stdout, stderr } = context;
  let found: OperatorList;
  try {
    const client = await open();
    const listing = listOperators(client, clock, options.operatorNamespace, { deadlineMs });
    found = await listing.finally(() => client.close());
  } catch (error) {
    if (!isExpected(error)) throw error;
    if (error.code !== 'host.noCluster') stderr.write(`${describeUnknown(error)}\n`);
    return;
  }
  for (const { namespace, version = 'unknown' } of found.operators) {
    stdout.write(`operator ${printable(version)} in namespace ${printable(namespace)}\n`);
    const warning = skewWarning(own, { namespace, version });
    if (warning !== undefined) stderr.write(`${warning}\n`);
  }
  stderr.write(ignoredWarnings(found));
}

async function openClient(options: VersionOptions, { cwd, signal }: CommandContext): Promise<ApiClient> {
  const { api } = await chooseCluster(options, cwd, 'use --client to print only the version of the program');
  return new ApiClient({ api, clock: systemClock, metrics: noMetrics, signal });
}

/** Operators of a cluster, found by their Leases. Each list is sorted by namespace. */
export interface OperatorList {
  /** The running operators or, if no operator is running, all operators. */
  readonly operators: readonly OperatorVersion[];
  /**
   * Operators that are ignored because they are not running, while other operators are. An ignored operator may have
   * been uninstalled, because Helm does not delete its Lease.
   */
  readonly ignored: readonly OperatorVersion[];
}

/** Lists operators by their Leases. */
export async function listOperators(
  client: ApiClient,
  clock: Pick<Clock, 'now'>,
  namespace?: string,
  call: { readonly deadlineMs?: number } = {},
): Promise<OperatorList> {
  const path = objectPath('leases', namespace);
  const query = { fieldSelector: `metadata.name=${operatorLeaseName}` };
  const { items } = decodeListPage(await client.find(path, { ...call, query }), path);
  const found = items
    .flatMap((item) => (isRecord(item) && isRecord(item.metadata) ? operatorIn(item.metadata, item.spec) : []))
    .sort((left, right) => compareText(left.namespace, right.namespace));
  const working = found.filter((operator) => isWorking(operator, clock));
  if (working.length === 0) return { operators: found, ignored: [] };
  return { operators: working, ignored: found.filter((operator) => !working.includes(operator)) };
}

/** Returns a warning for each ignored operator, because the operator may have stopped only temporarily. */
export function ignoredWarnings({ ignored }: OperatorList): string {
  const lines = ignored.map((operator) => {
    const namespace = printable(operator.namespace);
    return `warning: ignored the operator in namespace ${namespace}, because ${renderSilence(operator)}. To select this operator, use --operator-namespace ${shellWord(namespace)}\n`;
  });
  return lines.join('');
}

function operatorIn({ namespace, annotations }: JsonObject, spec: unknown): OperatorVersion {
  const version = isRecord(annotations) ? annotations[operatorVersionAnnotation] : undefined;
  const { holderIdentity, renewTime } = isRecord(spec) ? spec : {};
  const renewedMs = holderIdentity ? Date.parse(String(renewTime)) : Number.NaN;
  return {
    namespace: String(namespace),
    version: typeof version === 'string' ? version : undefined,
    renewedMs: Number.isNaN(renewedMs) ? undefined : renewedMs,
  };
}

/**
 * Time in ms after which an operator that has not renewed its Lease counts as stopped. The time is long, because the
 * clocks of this machine and the cluster may differ.
 */
const longestSilenceMs = 60_000;

function isWorking({ renewedMs = 0 }: OperatorVersion, clock: Pick<Clock, 'now'>): boolean {
  return clock.now() - renewedMs <= longestSilenceMs;
}

/**
 * Returns a warning if no operator process is working in the cluster or namespace. Returns no warning if it is unknown
 * whether one is working.
 */
export async function idleClusterNote(
  client: ApiClient,
  clock: Pick<Clock, 'now'>,
  namespace?: string,
): Promise<string | undefined> {
  try {
    const { operators } = await listOperators(client, clock, namespace, { deadlineMs });
    const [first] = operators;
    if (!first || isWorking(first, clock)) return undefined;
    const why = operators.map(renderSilence).join(', and ');
    const check = `kubectl get pods -n ${shellWord(first.namespace)}`;
    return `No operator is working in the cluster (${why}), so its resources do not change. To check the pods of the operator: ${check}`;
  } catch (error) {
    if (!isExpected(error)) throw error;
    return undefined;
  }
}

function renderSilence({ namespace, renewedMs }: OperatorVersion): string {
  const lease = `its Lease in namespace ${printable(namespace)}`;
  if (renewedMs === undefined) return `no process holds ${lease}`;
  return `${lease} was last renewed at ${isoSeconds(renewedMs)}`;
}

function describeUnknown(error: LogfleetError): string {
  if (error.code !== 'host.forbidden') return `The version of the operator is unknown: ${error.message}`;
  return 'The version of the operator is unknown, because you do not have permission to list its Lease. Specify its namespace with --operator-namespace, or ask for the ClusterRole view in that namespace.';
}

/** Returns a warning if this program and the operator differ in their major or minor version. */
function skewWarning(own: string, { namespace, version = '' }: OperatorVersion): string | undefined {
  const [ours, theirs] = [minorVersion(own), minorVersion(version)];
  if (ours === undefined || theirs === undefined || ours === theirs) return undefined;
  return (
    `warning: the operator in namespace ${namespace} has version ${version}, and this program has version ${own}. ` +
    `If the versions differ, logfleet validate and logfleet plan may accept manifests that the operator rejects. Install logfleet ${theirs} on this machine, or upgrade the operator.`
  );
}

/** Returns the major and minor version, such as `0.1` for `0.1.4`. */
function minorVersion(version: string): string | undefined {
  return /^(\d+\.\d+)\.\d+(?:[-+.\w]*)$/.exec(version)?.[1];
}
