/** Tests how commands pause all policies and exports in a cluster. */
import { describe, expect, test } from 'vitest';
import { noMetrics } from '../../../src/base/metrics.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { PauseOptions } from '../../../src/cli/command/options.ts';
import { findSwitch, type OperatorSwitch } from '../../../src/cli/person/cluster-switch.ts';
import { pauseAllCommand } from '../../../src/cli/person/pause.ts';
import { ApiClient } from '../../../src/host/kubernetes/api-client.ts';
import { MemoryApiServer } from '../../support/memory-api-server.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
const settings = (namespace: string) => `${configMaps(namespace)}/logfleet-settings`;
const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

function cluster(...namespaces: readonly string[]) {
  const clock = new VirtualClock();
  const renewTime = new Date(clock.now()).toISOString();
  const server = new MemoryApiServer({ clock, random: seededRandom(1) });
  for (const namespace of namespaces) {
    const spec = { holderIdentity: 'pod', renewTime };
    server.create(leases(namespace), { metadata: { name: 'logfleet-operator' }, spec });
  }
  server.create(leases('other'), { metadata: { name: 'another-operator' } });

  async function turn(paused: boolean, options: PauseOptions = {}) {
    const client = new ApiClient({ api: server.client('person'), clock, metrics: noMetrics });
    const context = recordingContext();
    const open = (): Promise<OperatorSwitch> => findSwitch(client, options, context, clock);
    const ended = pauseAllCommand(paused, options, context, open).then(
      () => context.stdout.text,
      (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
    );
    let text: string | undefined;
    void ended.then((said) => {
      text = said;
    });
    await clock.run(() => text !== undefined);
    return { text, warning: context.stderr.text };
  }

  const data = (namespace: string) => server.get(settings(namespace))?.['data'];
  return { server, turn, data, clock };
}

const paused =
  'everything of the operator in namespace logfleet: paused; upgrades and searches in flight run to completion. ' +
  'To resume: logfleet resume --all --operator-namespace logfleet\n';

describe('the ConfigMap', () => {
  test('is created in the namespace of the lease, and changed afterwards', async () => {
    const { turn, data, server } = cluster('logfleet');
    expect(await turn(true)).toEqual({ text: paused, warning: '' });
    expect(data('logfleet')).toEqual({ paused: 'true' });
    server.patch(settings('logfleet'), { data: { note: 'incident 12' } });
    expect((await turn(true)).text).toContain(
      ': was already paused by the ConfigMap logfleet-settings in namespace logfleet; upgrades',
    );
    expect((await turn(false)).text).toBe('everything of the operator in namespace logfleet: resumed.\n');
    expect(data('logfleet')).toEqual({ paused: 'false', note: 'incident 12' });
    expect((await turn(false)).text).toBe('everything of the operator in namespace logfleet: was not paused.\n');
    await turn(true);
    expect(data('logfleet')).toEqual({ paused: 'true', note: 'incident 12' });
  });

  test('is not created by resume', async () => {
    const { turn, data } = cluster('logfleet');
    expect((await turn(false)).text).toContain('was not paused.');
    expect(data('logfleet')).toBeUndefined();
  });
});

test.each([
  ['the operator has not renewed its lease for a long time', {}, 120_000, 'was last renewed at 2026-11-01T00:00:00Z'],
  ['no process holds the lease', { holderIdentity: '' }, 0, 'no process holds its Lease in namespace logfleet'],
  ['the operator has renewed its lease a moment ago', {}, 30_000, undefined],
])('a note says that no operator is running if that is certain: %s', async (_, spec, afterMs, note) => {
  const { server, turn, clock } = cluster('logfleet');
  server.patch(`${leases('logfleet')}/logfleet-operator`, { spec });
  await clock.advance(afterMs);
  const { warning } = await turn(false);
  if (note === undefined) return expect(warning).toBe('');
  expect(warning).toContain(note);
  expect(warning).toContain('To check the pods of the operator: kubectl get pods -n logfleet\n');
});

describe('which operator', () => {
  test('is an error if there are several', async () => {
    const { turn, data } = cluster('team-a', 'team-b');
    expect((await turn(true)).text).toBe(
      'cli.usage the namespaces team-a and team-b each have an operator; select one of them with --operator-namespace',
    );
    const { text } = await turn(true, { operatorNamespace: 'team-b', context: 'dev' });
    expect(text).toContain('To resume: logfleet resume --all --context dev --operator-namespace team-b\n');
    expect([data('team-a'), data('team-b')]).toEqual([undefined, { paused: 'true' }]);
  });

  test('is the one that is working, if the Lease of an uninstalled operator was kept', async () => {
    const { turn, data, server, clock } = cluster('former', 'logfleet');
    await clock.advance(120_000);
    expect((await turn(true)).text).toContain('the namespaces former and logfleet each have an operator');
    const spec = { holderIdentity: 'pod', renewTime: new Date(clock.now()).toISOString() };
    server.patch(`${leases('logfleet')}/logfleet-operator`, { spec });
    expect(await turn(true)).toEqual({
      text: paused,
      warning:
        'warning: ignored the operator in namespace former, because its Lease in namespace former was last renewed at 2026-11-01T00:00:00Z. To select this operator, use --operator-namespace former\n',
    });
    server.patch(`${leases('former')}/logfleet-operator`, { spec: { ...spec, holderIdentity: '' } });
    await turn(false);
    expect([data('former'), data('logfleet')]).toEqual([undefined, { paused: 'false' }]);
  });

  test('is the only one, even if no process holds its Lease', async () => {
    const { turn, data, server } = cluster('logfleet');
    server.patch(`${leases('logfleet')}/logfleet-operator`, { spec: { holderIdentity: '' } });
    expect((await turn(true)).text).toBe(paused);
    expect(data('logfleet')).toEqual({ paused: 'true' });
  });

  test('is an error if there is none, and a namespace without a lease causes a warning', async () => {
    const { turn, data } = cluster();
    expect((await turn(true)).text).toBe(
      'cli.usage the cluster has no Lease of a logfleet operator; set the namespace of the operator with --operator-namespace NAMESPACE',
    );
    const { warning } = await turn(true, { operatorNamespace: 'logfleet' });
    expect(warning).toBe(
      'warning: namespace logfleet has no Lease of a logfleet operator, so the command may have no effect\n',
    );
    expect(data('logfleet')).toEqual({ paused: 'true' });
  });

  test('is an error without the right to list leases, unless the flag names the namespace', async () => {
    const { turn, server, data } = cluster('logfleet');
    server.onRequest = ({ collection }) =>
      collection.endsWith('/leases') ? { kind: 'status', status: 403, when: 'before' } : undefined;
    expect((await turn(true)).text).toBe(
      'cli.usage you do not have permission to list the Leases of all namespaces, which show where operators run; set the namespace of the operator with --operator-namespace NAMESPACE',
    );
    expect(await turn(true, { operatorNamespace: 'logfleet' })).toEqual({ text: paused, warning: '' });
    expect(data('logfleet')).toEqual({ paused: 'true' });
  });
});

test('reports errors of the API server', async () => {
  const { turn, server } = cluster('logfleet');
  server.onRequest = ({ method, collection }) =>
    method !== 'GET' && collection === 'v1/configmaps' ? { kind: 'status', status: 403, when: 'before' } : undefined;
  expect((await turn(true)).text).toMatch(/^host\.forbidden .*PATCH .*logfleet-settings/);
});
