/** Tests how `logfleet version` prints operator versions, and when it prints a warning. */
import { describe, expect, test } from 'vitest';
import { noMetrics } from '../../../src/base/metrics.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { VersionOptions } from '../../../src/cli/command/options.ts';
import { namesCluster, printOperatorVersions } from '../../../src/cli/resources/operator-version.ts';
import { ApiClient } from '../../../src/host/kubernetes/api-client.ts';
import { MemoryApiServer } from '../../support/memory-api-server.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

interface VersionSetting {
  /** Operator versions by namespace. */
  readonly versions: Readonly<Record<string, string | undefined>>;
  /** Namespace of the operator that is running, or undefined if no operator is running. */
  readonly working?: string;
  readonly options?: VersionOptions;
  readonly refusal?: number;
}

async function print({ versions, working, options = {}, refusal }: VersionSetting) {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ clock, random: seededRandom(1) });
  for (const [namespace, version] of Object.entries(versions)) {
    const annotations = version === undefined ? {} : { 'logfleet.dev/operator-version': version };
    const renewed = { holderIdentity: 'pod', renewTime: new Date(clock.now()).toISOString() };
    // An operator that ends removes its name from the Lease, but leaves the time of this last write.
    const spec = namespace === working ? renewed : { ...renewed, holderIdentity: '' };
    server.create(leases(namespace), { metadata: { name: 'logfleet-operator', annotations }, spec });
  }
  server.create(leases('other'), { metadata: { name: 'another-operator' } });
  if (refusal !== undefined) {
    server.onRequest = ({ namespace }) =>
      namespace === undefined ? { kind: 'status', status: refusal, when: 'before' } : undefined;
  }
  const context = recordingContext();
  const open = async () => new ApiClient({ api: server.client('person'), clock, metrics: noMetrics });
  await clock.during(printOperatorVersions(options, '1.2.3', context, open, clock));
  return { stdout: context.stdout.text, stderr: context.stderr.text };
}

describe('the versions of operators', () => {
  test('are printed with their namespaces', async () => {
    expect(await print({ versions: { one: '1.2.9', two: undefined } })).toEqual({
      stdout: 'operator 1.2.9 in namespace one\noperator unknown in namespace two\n',
      stderr: '',
    });
  });

  test('leave out an uninstalled operator whose Lease was kept', async () => {
    const printed = await print({ versions: { former: '1.1.0', logfleet: '1.2.3' }, working: 'logfleet' });
    expect(printed).toEqual({
      stdout: 'operator 1.2.3 in namespace logfleet\n',
      stderr:
        'warning: ignored the operator in namespace former, because no process holds its Lease in namespace former. To select this operator, use --operator-namespace former\n',
    });
  });

  test.each(['1.3.0', '1.1.9', '2.2.3'])('cause a warning if the minor versions differ: %s', async (version) => {
    const { stdout, stderr } = await print({ versions: { logfleet: version } });
    expect(stdout).toBe(`operator ${version} in namespace logfleet\n`);
    expect(stderr).toContain(`has version ${version}, and this program has version 1.2.3`);
  });

  test('are unknown without the right to list leases, unless the flag names the namespace', async () => {
    const setting = { versions: { logfleet: '1.2.3' }, refusal: 403 };
    const { stdout, stderr } = await print(setting);
    expect(stdout).toBe('');
    expect(stderr).toContain('Specify its namespace with --operator-namespace');
    const named = await print({ ...setting, options: { operatorNamespace: 'logfleet' } });
    expect(named).toEqual({ stdout: 'operator 1.2.3 in namespace logfleet\n', stderr: '' });
  });

  test('are unknown if the API server fails', async () => {
    const { stderr } = await print({ versions: {}, refusal: 500 });
    expect(stderr).toMatch(/^The version of the operator is unknown: /);
  });
});

test.each([
  [{}, {}, false],
  [{ kubeconfig: 'k' }, {}, true],
  [{}, { KUBECONFIG: 'k' }, true],
  [{}, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, true],
])('flags %j and the environment %j name a cluster: %s', (options, env, expected) => {
  expect(namesCluster(options, { HOME: '/no/such/home', ...env })).toBe(expected);
});
