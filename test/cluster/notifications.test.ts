/** Tests the notifications from an operator installed from the output of `logfleet manifests`. */
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProgram } from '../../src/cli/program.ts';
import { Namespace } from '../e2e/support/cluster.ts';
import { test } from '../e2e/support/end-to-end.ts';
import { volumePlace } from '../e2e/support/exports.ts';
import { logs, oldVersion } from '../e2e/support/simulator.ts';
import { createNamespace, kubectl, userFor } from '../support/control-plane.ts';
import { httpsServer, selfSigned } from '../support/loopback.ts';
import { recordingContext } from '../support/recording-context.ts';

function environmentOf(manifests: string): Record<string, string> {
  const objects = parseAllDocuments(manifests).map((document) => document.toJS({ maxAliasCount: -1 }));
  const [container] = objects.find(({ kind }) => kind === 'Deployment').spec.template.spec.containers;
  const env: readonly { readonly name: string; readonly value?: string }[] = container.env;
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

test("the operator notifies a webhook of policies and schedules, but not of a schedule's runs", async ({
  tenant,
  start,
  onTestFinished,
}) => {
  /** Received notifications, by id. On a busy machine, the operator may send a notification twice. */
  const bodies = new Map<string, Record<string, string>>();
  const certificate = await selfSigned(['localhost', '127.0.0.1']);
  await using server = await httpsServer(certificate, (request, response) => {
    const take = (body: string) => {
      const notification = JSON.parse(body);
      bodies.set(notification.id, notification);
      response.end();
    };
    // Ignores a request that the operator cancels.
    text(request).then(take, () => {});
  });
  const place = volumePlace();
  onTestFinished(() => place.remove());

  const own = new Namespace(await createNamespace('notifications'));
  const served = new Namespace(await createNamespace('team'));
  const context = recordingContext();
  const flags = ['--namespace', own.name, '--namespaces', served.name, '--notification-secret', 'webhook'];
  expect(await runProgram(['manifests', ...flags], context)).toBe(0);
  const input = context.stdout.text;
  expect(await kubectl(['apply', '--filename', '-'], { input })).toMatchObject({ status: 0 });
  await own.apply({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'webhook', namespace: own.name } },
    stringData: { url: `https://127.0.0.1:${server.port}/hook`, 'ca.crt': certificate.cert },
  });
  const { kubeconfig } = await userFor(own.name, 'logfleet');
  const here = { LOGFLEET_OPERATOR_NAMESPACE: own.name, LOGFLEET_HEALTH_LISTEN: '127.0.0.1:0' };
  const env = { ...environmentOf(input), ...here, POD_NAME: 'logfleet-0' };
  await start(['run', '--kubeconfig', kubeconfig, '--grace', '1s', ...place.flags], { env });

  await tenant.equip({ groups: { web: { count: 2, version: oldVersion, upgrade: { duration: '2s' } } } });
  await served.apply(served.secretManifest(tenant), served.policyManifest('production'), {
    ...{ apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExportSchedule' },
    metadata: { name: 'hourly', namespace: served.name },
    spec: {
      ...{ schedule: '0 * * * *', startTime: logs.from, endTime: logs.to },
      template: {
        spec: { credentialsSecretRef: { name: 'log-service' }, query: '*', destination: place.destination },
      },
    },
  });
  const received = () =>
    [...bodies.values()].map(({ subject, kind, name, reason }) => [subject, kind, name, reason]).sort();
  await expect.poll(received).toEqual([
    ['Completed', 'CollectorVersionPolicy', 'production', 'AllUpdated'],
    ['Completed', 'SearchExportSchedule', 'hourly', 'ScheduleEnded'],
  ]);
  // The operator may write an Event after it has sent the notifications.
  const eventReasons = async () => {
    const { stdout } = await served.kubectl(['get', 'events', '--output', 'json']);
    return (JSON.parse(stdout).items as readonly { readonly reason: string }[]).map(({ reason }) => reason);
  };
  await expect.poll(eventReasons).toContain('Exported');
});
