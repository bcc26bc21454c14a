/** logfleet's manifests, installed in a namespace of its own, and its service account: what the operator may do in a cluster, and no more. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { controlPlane, createNamespace, kubectl, userFor } from './control-plane.ts';

const manifests = join(import.meta.dirname, '../../manifests');

export interface Installation {
  readonly namespace: string;
  /** Of the operator's service account. */
  readonly kubeconfig: string;
}

/** `base` is a folder of `manifests/`: `namespaced` or `cluster-wide`. */
export async function install(base: string): Promise<Installation> {
  const namespace = await createNamespace('host');
  const args = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  const { status, stderr } = await kubectl(args, { input: await render(base, namespace) });
  if (status !== 0) throw new Error(stderr);
  const { kubeconfig } = await userFor(namespace, `logfleet-${namespace}`);
  return { namespace, kubeconfig };
}

/** What a base installs, in that namespace, under names of its own where they are not in a namespace. */
async function render(base: string, namespace: string): Promise<string> {
  const directory = join(controlPlane().directory, `${namespace}-${base}`);
  mkdirSync(directory, { recursive: true });
  const lines = [
    'kind: Kustomization',
    `namespace: ${namespace}`,
    `nameSuffix: -${namespace}`,
    `resources: ["${relative(directory, join(manifests, base))}"]`,
  ];
  writeFileSync(join(directory, 'kustomization.yaml'), lines.join('\n'));
  const { status, stdout, stderr } = await kubectl(['kustomize', directory]);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
