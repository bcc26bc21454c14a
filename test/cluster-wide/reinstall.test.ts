/**
 * Uninstalls the operator during a rollout and an export, and installs it again, with Helm and with kustomize on a real
 * API server. The tests start the operator's process themselves.
 */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { objectPath, operatorLeaseName, resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { Namespace } from '../e2e/support/cluster.ts';
import { test as endToEnd } from '../e2e/support/end-to-end.ts';
import { type ExportPlace, expectExported, exportManifest, volumePlace } from '../e2e/support/exports.ts';
import { expectPromiseKept } from '../e2e/support/oracles.ts';
import type { Program } from '../e2e/support/program.ts';
import { oldVersion, type Tenant, targetVersion } from '../e2e/support/simulator.ts';
import { callApi, controlPlane, createNamespace, kubectl, userFor } from '../support/control-plane.ts';
import { chart, helm } from '../support/helm.ts';
import { kustomization } from '../support/installation.ts';

const deploymentPath = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments/logfleet`;
const claimPath = (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims/logfleet-exports`;

/** A way to install the operator, with a volume for exports, in one namespace. */
interface Installer {
  readonly namespace: string;
  install(): Promise<void>;
  /** Removes the operator, but not its volume. */
  uninstall(): Promise<void>;
}

class Helm implements Installer {
  readonly namespace: string;
  readonly #values: object;

  constructor(namespace: string) {
    this.namespace = namespace;
    this.#values = { namespaces: [namespace], exportVolume: { enabled: true } };
  }

  /** Makes Helm take over the objects of a kustomization, as described in docs/upgrade.md. */
  async adopt(directory: string, values: object): Promise<void> {
    const flags = ['--server-side', '--field-manager=helm', '--force-conflicts'];
    expect(await kubectl(['apply', '-k', directory, ...flags])).toMatchObject({ status: 0 });
    const all = { ...this.#values, ...values };
    await this.#helm(['install', 'logfleet', chart, '--take-ownership', '--force-conflicts'], all);
  }

  install(): Promise<void> {
    return this.#helm(['install', 'logfleet', chart], this.#values);
  }

  /** Upgrades to the next version of the chart. */
  upgrade(values: object): Promise<void> {
    return this.#helm(['upgrade', 'logfleet', nextChart()], { ...this.#values, ...values });
  }

  uninstall(): Promise<void> {
    return this.#helm(['uninstall', 'logfleet']);
  }

  async #helm(args: readonly string[], values?: object): Promise<void> {
    const { status, stderr } = await helm([...args, '--namespace', this.namespace], values);
    if (status !== 0) throw new Error(stderr);
  }
}

/** Installs and deletes a kustomization with kubectl. Keeps the volume, as described in docs/uninstall.md. */
class Kustomize implements Installer {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  install(): Promise<void> {
    return this.#kubectl('apply', ['export-volume']);
  }

  uninstall(): Promise<void> {
    return this.#kubectl('delete', []);
  }

  async #kubectl(verb: 'apply' | 'delete', components: readonly string[]): Promise<void> {
    const directory = kustomization({ namespace: this.namespace, resources: ['namespaced'], components });
    expect(await kubectl([verb, '-k', directory])).toMatchObject({ status: 0 });
  }
}

interface OperatorContainer {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Returns the image, arguments and environment variables of the operator's container. */
async function container(namespace: string): Promise<OperatorContainer> {
  const { status, body } = await callApi('GET', deploymentPath(namespace));
  expect(status).toBe(200);
  const { image, args, env } = body.spec.template.spec.containers[0];
  const plain = (env as readonly { readonly name: string; readonly value?: string }[]).filter(({ value }) => value);
  return { image, args, env: Object.fromEntries(plain.map(({ name, value }) => [name, value ?? ''])) };
}

/** Returns a copy of the chart with a higher version. */
function nextChart(): string {
  const directory = mkdtempSync(join(controlPlane().directory, 'next-chart-'));
  cpSync(chart, directory, { recursive: true });
  const file = join(directory, 'Chart.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^(version|appVersion): .*$/gm, '$1: 99.0.0'));
  return directory;
}

const test = endToEnd
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('place', ({}, { onCleanup }): ExportPlace => {
    const place = volumePlace();
    onCleanup(() => place.remove());
    return place;
  })
  .extend('operator', ({ start, place }) => async (namespace: string, pod: string): Promise<Program> => {
    const { args, env } = await container(namespace);
    const [, directory = ''] = place.flags[1]?.split('=') ?? [];
    const { kubeconfig } = await userFor(namespace, 'logfleet');
    const here = {
      LOGFLEET_NAMESPACES: namespace,
      LOGFLEET_OPERATOR_NAMESPACE: namespace,
      LOGFLEET_HEALTH_LISTEN: '127.0.0.1:0',
      POD_NAME: pod,
    };
    const flags = args.map((each) => each.replace('=/exports', `=${directory}`));
    return start([...flags, '--kubeconfig', kubeconfig, '--grace', '1s'], { env: { ...env, ...here } });
  });

/** Stops the operator with SIGTERM, as Kubernetes stops a pod. */
async function stop(program: Program): Promise<void> {
  program.signal('SIGTERM');
  await program.ended;
}

/** Returns the names and uids of the objects that every uninstallation keeps. */
async function kept(namespace: string): Promise<readonly string[]> {
  const folders = [
    resourcePath('CollectorVersionPolicy', namespace),
    resourcePath('SearchExport', namespace),
    objectPath('ledgers', namespace),
  ];
  const lists = await Promise.all(folders.map((path) => callApi('GET', path)));
  const claim = await callApi('GET', claimPath(namespace));
  const objects = [...lists.flatMap(({ body }) => body.items), claim.body];
  return objects.map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
}

async function leaseUid(namespace: string): Promise<string> {
  const { status, body } = await callApi('GET', objectPath('leases', namespace, operatorLeaseName));
  expect(status).toBe(200);
  return body.metadata.uid;
}

/**
 * Number of collectors. It is high enough that the rollout is still running when the operator is uninstalled, even on a
 * busy machine.
 */
const fleetSize = 60;

type Operator = (namespace: string, pod: string) => Promise<Program>;

interface World {
  readonly tenant: Tenant;
  readonly place: ExportPlace;
  readonly operator: Operator;
}

/** Starts an operator, a rollout and an export. Returns the operator when both have made progress. */
async function begin({ namespace }: Installer, { tenant, place, operator }: World): Promise<Program> {
  const inCluster = new Namespace(namespace);
  const program = await operator(namespace, 'logfleet-0');
  await tenant.equip({ groups: { web: { count: fleetSize, version: oldVersion, upgrade: { duration: '2s' } } } });
  const policy = inCluster.policyManifest('production', { strategy: { maxInProgress: 2 } });
  await inCluster.apply(inCluster.secretManifest(tenant), policy, exportManifest(place, namespace));
  await tenant.posted(3);
  await inCluster.exportUntil('audit', ({ status }) => (status?.progress?.intervalsDone ?? 0) > 0);
  return program;
}

/** Uninstalls the operator, installs it again, and checks that the rollout and the export continue. */
async function reinstall(installer: Installer, running: Program, { tenant, place, operator }: World): Promise<void> {
  const { namespace } = installer;
  const inCluster = new Namespace(namespace);
  const before = await kept(namespace);
  expect(before).toHaveLength(4);
  await installer.uninstall();
  expect((await callApi('GET', deploymentPath(namespace))).status).toBe(404);
  // Without permissions, the operator cannot release its lease or write a status.
  await stop(running);
  expect(await kept(namespace)).toEqual(before);
  expect((await tenant.tasks()).length).toBeLessThan(fleetSize);

  await installer.install();
  await operator(namespace, 'logfleet-2');
  // The rest of the rollout need not last long.
  const patch = JSON.stringify({ spec: { strategy: { maxInProgress: fleetSize } } });
  expect(await inCluster.kubectl(['patch', 'cvp', 'production', '--type=merge', '-p', patch])).toMatchObject({
    status: 0,
  });
  await inCluster.reason('production', 'AllUpdated');
  const { status } = await inCluster.exportReason('audit', 'Exported');
  expect((await tenant.collectors()).map(({ version }) => version)).toEqual(Array(fleetSize).fill(targetVersion));
  expect(await tenant.tasks()).toHaveLength(fleetSize);
  await expectPromiseKept(tenant, { retryLimit: 2 });
  await expectExported(place, status?.fingerprint ?? '', namespace);
}

test.concurrent('Helm adopts an installation made with kustomize; a rollout and an export continue after helm upgrade, and after helm uninstall and install', async ({
  tenant,
  place,
  operator,
}) => {
  const namespace = await createNamespace('chart');
  const components = ['export-volume', 'export-jobs-namespaced'];
  const directory = kustomization({ namespace, resources: ['namespaced'], components });
  expect(await kubectl(['apply', '-k', directory])).toMatchObject({ status: 0 });
  const release = new Helm(namespace);
  await release.adopt(directory, { exportJobs: { enabled: true } });
  expect((await container(namespace)).env).toHaveProperty('LOGFLEET_WORKER_IMAGE');
  const first = await begin(release, { tenant, place, operator });
  await release.upgrade({ logLevel: 'debug' });
  const { env, image } = await container(namespace);
  expect(env).toMatchObject({ LOGFLEET_NAMESPACES: namespace, LOGFLEET_LOG_LEVEL: 'debug' });
  expect(env).not.toHaveProperty('LOGFLEET_WORKER_IMAGE');
  expect(image).toBe('logfleet:99.0.0');
  const second = await operator(namespace, 'logfleet-1');
  await stop(first);
  await tenant.posted(6);
  const lease = await leaseUid(namespace);
  await reinstall(release, second, { tenant, place, operator });
  expect(await leaseUid(namespace)).toBe(lease);
});

test.concurrent('a rollout and an export continue after kubectl delete -k and kubectl apply -k', async ({
  tenant,
  place,
  operator,
}) => {
  const installer = new Kustomize(await createNamespace('kustomize'));
  await installer.install();
  const running = await begin(installer, { tenant, place, operator });
  await reinstall(installer, running, { tenant, place, operator });
});
