/** Installs, upgrades and uninstalls the Helm chart on a real API server. The test starts the operator itself. */
import { expect } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { objectPath, operatorLeaseName, resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { Namespace } from '../e2e/support/cluster.ts';
import { test as endToEnd } from '../e2e/support/end-to-end.ts';
import { type ExportPlace, expectExported, exportManifest, volumePlace } from '../e2e/support/exports.ts';
import { expectPromiseKept } from '../e2e/support/oracles.ts';
import type { Program } from '../e2e/support/program.ts';
import { oldVersion, targetVersion } from '../e2e/support/simulator.ts';
import { callApi, createNamespace, kubectl, userFor } from '../support/control-plane.ts';
import { chart, helm } from '../support/helm.ts';
import { recordingContext } from '../support/recording-context.ts';

const deploymentPath = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments/logfleet`;
const claimPath = (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims/logfleet-exports`;

class Release {
  readonly namespace: string;
  readonly #values: object;

  constructor(namespace: string) {
    this.namespace = namespace;
    this.#values = { namespaces: [namespace], exportVolume: { enabled: true } };
  }

  /** Installs the chart over objects created by `kubectl apply`. */
  adopt(): Promise<void> {
    return this.#helm(['install', 'logfleet', chart, '--take-ownership', '--force-conflicts'], this.#values);
  }

  install(): Promise<void> {
    return this.#helm(['install', 'logfleet', chart], this.#values);
  }

  upgrade(values: object): Promise<void> {
    return this.#helm(['upgrade', 'logfleet', chart], { ...this.#values, ...values });
  }

  uninstall(): Promise<void> {
    return this.#helm(['uninstall', 'logfleet']);
  }

  async #helm(args: readonly string[], values?: object): Promise<void> {
    const { status, stderr } = await helm([...args, '--namespace', this.namespace], values);
    if (status !== 0) throw new Error(stderr);
  }

  /** Arguments and environment variables for the operator's container. */
  async container(): Promise<{ readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }> {
    const { status, body } = await callApi('GET', deploymentPath(this.namespace));
    expect(status).toBe(200);
    const { args, env } = body.spec.template.spec.containers[0];
    const plain = (env as readonly { readonly name: string; readonly value?: string }[]).filter(({ value }) => value);
    return { args, env: Object.fromEntries(plain.map(({ name, value }) => [name, value ?? ''])) };
  }
}

/** Installs the operator with kubectl instead of Helm, and with another image than the chart's. */
async function installByKubectl(namespace: string): Promise<void> {
  const context = recordingContext();
  await runProgram(['manifests', '--namespace', namespace, '--namespaces', namespace], context);
  const setImage = ['set', 'image', '--namespace', namespace, 'deployment/logfleet', 'logfleet=logfleet:0.0.9'];
  for (const args of [['apply', '--filename', '-'], setImage]) {
    expect(await kubectl(args, { input: context.stdout.text })).toMatchObject({ status: 0 });
  }
}

const test = endToEnd
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('place', ({}, { onCleanup }): ExportPlace => {
    const place = volumePlace();
    onCleanup(() => place.remove());
    return place;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('release', async ({}) => {
    const namespace = await createNamespace('chart');
    await installByKubectl(namespace);
    const release = new Release(namespace);
    await release.adopt();
    return release;
  })
  .extend('operator', ({ start, release, place }) => async (pod: string): Promise<Program> => {
    const { namespace } = release;
    const { args, env } = await release.container();
    const [, directory = ''] = place.flags[1]?.split('=') ?? [];
    const { kubeconfig } = await userFor(namespace, 'logfleet');
    const here = { LOGFLEET_OPERATOR_NAMESPACE: namespace, LOGFLEET_HEALTH_LISTEN: '127.0.0.1:0', POD_NAME: pod };
    const flags = args.map((each) => each.replace('=/exports', `=${directory}`));
    return start([...flags, '--kubeconfig', kubeconfig, '--grace', '1s'], { env: { ...env, ...here } });
  });

/** Stops the operator with SIGTERM, as Kubernetes stops a pod. */
async function stop(program: Program): Promise<void> {
  program.signal('SIGTERM');
  await program.ended;
}

async function kept(namespace: string): Promise<readonly string[]> {
  const folders = [
    resourcePath('CollectorVersionPolicy', namespace),
    resourcePath('SearchExport', namespace),
    objectPath('ledgers', namespace),
  ];
  const lists = await Promise.all(folders.map((path) => callApi('GET', path)));
  const paths = [claimPath(namespace), objectPath('leases', namespace, operatorLeaseName)];
  const single = await Promise.all(paths.map((path) => callApi('GET', path)));
  const objects = [...lists.flatMap(({ body }) => body.items), ...single.map(({ body }) => body)];
  return objects.map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
}

/**
 * Number of collectors. It is high enough that the rollout is still running when the chart is uninstalled, even on a
 * busy machine.
 */
const fleetSize = 30;

test('Helm adopts an installation made with kubectl; a rollout and an export continue after helm upgrade, and after helm uninstall and install', async ({
  tenant,
  release,
  place,
  operator,
}) => {
  const namespace = new Namespace(release.namespace);
  const first = await operator('logfleet-0');
  await tenant.equip({ groups: { web: { count: fleetSize, version: oldVersion, upgrade: { duration: '2s' } } } });
  const policy = namespace.policyManifest('production', { strategy: { maxInProgress: 2 } });
  await namespace.apply(namespace.secretManifest(tenant), policy, exportManifest(place, namespace.name));
  await tenant.posted(3);
  await namespace.exportUntil('audit', ({ status }) => (status?.progress?.intervalsDone ?? 0) > 0);

  await release.upgrade({ logLevel: 'debug' });
  expect((await release.container()).env).toMatchObject({ LOGFLEET_LOG_LEVEL: 'debug' });
  const second = await operator('logfleet-1');
  await stop(first);
  await tenant.posted(6);

  const before = await kept(namespace.name);
  expect(before).toHaveLength(5);
  await release.uninstall();
  expect((await callApi('GET', deploymentPath(namespace.name))).status).toBe(404);
  // Without permissions, the operator cannot release its lease or write a status.
  await stop(second);
  expect(await kept(namespace.name)).toEqual(before);
  expect((await tenant.tasks()).length).toBeLessThan(fleetSize);

  await release.install();
  await operator('logfleet-2');
  await namespace.reason('production', 'AllUpdated');
  const { status } = await namespace.exportReason('audit', 'Exported');
  expect((await tenant.collectors()).map(({ version }) => version)).toEqual(Array(fleetSize).fill(targetVersion));
  expect(await tenant.tasks()).toHaveLength(fleetSize);
  await expectPromiseKept(tenant, { retryLimit: 2 });
  await expectExported(place, status?.fingerprint ?? '', namespace.name);
});
