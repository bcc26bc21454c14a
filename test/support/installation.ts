/** Installs logfleet from its manifests, in a namespace created by the test. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runProgram } from '../../src/cli/program.ts';
import { operatorLeaseName } from '../../src/host/kubernetes/api-paths.ts';
import { controlPlane, createNamespace, kubectl, userFor } from './control-plane.ts';
import { recordingContext } from './recording-context.ts';

const manifests = join(import.meta.dirname, '../../manifests');

/**
 * Ways to install logfleet. `namespaced` and `cluster-wide` are folders in `manifests/`. For `namespaces`, the
 * manifests come from `logfleet manifests --namespaces`.
 */
export const installs = ['namespaced', 'cluster-wide', 'namespaces'] as const;
export type Install = (typeof installs)[number];

export interface Installation {
  readonly namespace: string;
  /** Path of the kubeconfig for the operator's service account. */
  readonly kubeconfig: string;
  readonly account: string;
  /** Namespaces managed by the operator, as in the flag `run --namespaces`. */
  readonly serves: 'all' | readonly string[];
  /** A namespace managed by the operator, in which tests create resources. */
  readonly home: string;
}

export async function install(way: Install): Promise<Installation> {
  const namespace = await createNamespace('host');
  const others = way === 'namespaces' ? [await createNamespace('team'), await createNamespace('team')] : [];
  const text = way === 'namespaces' ? await print(namespace, others) : await render(way, namespace);
  // The Lease is added here, because rendering it with the manifests would add the suffix to its name.
  const input = `${text}\n---\n${JSON.stringify(releasedLease(namespace))}`;
  const { status, stderr } = await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
  if (status !== 0) throw new Error(stderr);
  const account = way === 'namespaces' ? 'logfleet' : `logfleet-${namespace}`;
  const { kubeconfig } = await userFor(namespace, account);
  const serves = { namespaced: [namespace], 'cluster-wide': 'all', namespaces: others } as const;
  return { namespace, kubeconfig, account, serves: serves[way], home: others[0] ?? namespace };
}

/** Returns a Lease object that has no holder, so that the next operator can become the leader immediately. */
export function releasedLease(namespace: string): object {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: operatorLeaseName, namespace } };
}

async function print(namespace: string, namespaces: readonly string[]): Promise<string> {
  const context = recordingContext();
  await runProgram(['manifests', '--namespace', namespace, '--namespaces', namespaces.join()], context);
  return context.stdout.text;
}

/**
 * Renders a folder in `manifests/`. Adds a suffix to the names, so that two installations have different ClusterRoles.
 */
async function render(base: 'namespaced' | 'cluster-wide', namespace: string): Promise<string> {
  // The folder `cluster-wide` already includes the folder `roles`, but the folder `namespaced` does not.
  const resources = base === 'cluster-wide' ? [base] : [base, 'roles'];
  const directory = kustomization({ namespace, resources, nameSuffix: `-${namespace}` });
  const { status, stdout, stderr } = await kubectl(['kustomize', directory]);
  if (status !== 0) throw new Error(stderr);
  // Skips the CRDs: the control plane already has them, and applying them again would take longer than applying all
  // other objects.
  const objects = stdout.split(/^---$/m);
  return objects.filter((object) => !/^kind: CustomResourceDefinition$/m.test(object)).join('---');
}

export interface Kustomization {
  readonly namespace: string;
  /** Folders in `manifests/`. */
  readonly resources: readonly string[];
  /** Folders in `manifests/`. */
  readonly components?: readonly string[];
  readonly nameSuffix?: string;
}

/** Writes a kustomization that refers to folders in `manifests/`, and returns its directory. */
export function kustomization({ resources, components = [], ...fields }: Kustomization): string {
  const directory = mkdtempSync(join(controlPlane().directory, 'kustomization-'));
  const within = (folder: string) => relative(directory, join(manifests, folder));
  const content = { ...fields, resources: resources.map(within), components: components.map(within) };
  writeFileSync(join(directory, 'kustomization.yaml'), JSON.stringify(content));
  return directory;
}
