/** Runs the operator in a cluster until the process receives a signal. */
import { hostname } from 'node:os';
import { aborted } from '../../base/aborted.ts';
import { systemClock } from '../../base/clock.ts';
import type { Ports } from '../../base/ports.ts';
import type { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { ClusterConnection } from '../../host/kubernetes/cluster-connection.ts';
import { KubernetesHost } from '../../host/kubernetes/kubernetes-host.ts';
import { Notifier } from '../../notifications/notifier.ts';
import { sendNotification } from '../../notifications/webhook.ts';
import { settingsForGrace } from '../../policy/attempts/settings.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { exportPlaces } from '../command/flags.ts';
import { invocation } from '../command/invocation.ts';
import type { RunOptions } from '../command/options.ts';
import { packageVersion } from '../command/package-folder.ts';
import { createLogger } from '../operator/logging.ts';
import { Operator, serviceConnect } from '../operator/operator.ts';
import { chooseCluster } from '../resources/plain-cluster.ts';
import { startHealthServer } from './health-server.ts';

/** Maximum time in ms that a shutdown waits for notifications. */
const notificationGraceMs = 5_000;

export async function runInCluster(
  options: RunOptions,
  { cwd, env, signal, stderr }: CommandContext,
  metrics: PrometheusMetrics,
): Promise<number> {
  const cluster = await chooseCluster(
    options,
    cwd,
    `run the operator on a directory of manifests: ${invocation('run DIR')}`,
  );
  const log = createLogger(options, stderr.isTTY ? 'text' : 'json', stderr, stderr);
  const ports = { clock: systemClock, random: systemRandom, log, metrics };
  const { host, notifier } = createHost(options, cluster, env, ports);
  const operator = new Operator({
    ...ports,
    host,
    connect: serviceConnect(metrics, log, env),
    ...(options.grace === undefined ? {} : { settings: settingsForGrace(options.grace) }),
    exports: { places: exportPlaces(options, { cwd, env }) },
  });
  const { healthListen: listen } = options;
  const health =
    listen &&
    (await startHealthServer({
      ...{ listen, metrics },
      unhealthy: () =>
        host.healthy() ? [] : ['a background loop of the operator has made no progress for two minutes'],
      unready: () => host.unready(),
    }));
  host.start();
  operator.start();
  log.info('logfleet started', { version: packageVersion(), namespaces: options.namespaces ?? 'all' });
  await aborted(signal);
  log.info('logfleet is stopping', { signal: signal.reason });
  // Releases the Lease only after all work has ended, because another process may become the leader as soon as the
  // Lease is free.
  await operator.stop();
  await notifier?.stop(notificationGraceMs);
  await host.stop();
  await health?.close();
  return exitStatus.ok;
}

/** Creates the host for the cluster and, if the options contain a Secret for notifications, the notifier. */
function createHost(
  options: RunOptions,
  { api, namespace }: ClusterConnection,
  env: CommandContext['env'],
  ports: Ports,
): { readonly host: KubernetesHost; readonly notifier: Notifier | undefined } {
  const operatorNamespace = options.operatorNamespace ?? namespace;
  const notifier =
    options.notificationSecret === undefined
      ? undefined
      : new Notifier({
          ...ports,
          secret: secretKey(options.notificationSecret, operatorNamespace),
          secrets: { get: (key) => host.secrets.get(key) },
          send: (webhook, notification, signal) =>
            sendNotification(webhook, notification, { environment: env, clock: ports.clock, signal }),
        });
  const host: KubernetesHost = new KubernetesHost({
    ...ports,
    api,
    namespaces: options.namespaces ?? 'all',
    operatorNamespace,
    ...(notifier && {
      onEvent: (owner, event) => {
        // Runs of a schedule send no notifications, because the schedule itself reports failed and stalled runs.
        if (!host.resources(owner.kind).get(owner)?.metadata.owner) notifier.announce(owner, event);
      },
    }),
    identity: env.POD_NAME ?? hostname(),
    version: packageVersion(),
    leaderElection: options.leaderElection ?? true,
    ...(env.LOGFLEET_WORKER_IMAGE ? { workerImage: env.LOGFLEET_WORKER_IMAGE } : {}),
  });
  return { host, notifier };
}

/** Parses a reference to a Secret: `NAME` in the operator's namespace, or `NAMESPACE/NAME`. */
function secretKey(text: string, operatorNamespace: string) {
  const [name = '', namespace = operatorNamespace] = text.split('/').reverse();
  return { namespace, name };
}
