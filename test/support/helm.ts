/** Runs Helm with the project's chart, with folders of its own instead of those of the user. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { helmProgram } from '../../tools/installer/helm.ts';
import { controlPlane, type KubectlResult } from './control-plane.ts';

export const chart = join(import.meta.dirname, '../../charts/logfleet');

/** An object that Helm or kustomize has rendered. */
export interface RenderedObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a field of whatever kind of object.
  readonly [field: string]: any;
}

/** Runs Helm against the control plane of the test run, with these values of the chart. */
export async function helm(args: readonly string[], values?: object): Promise<KubectlResult> {
  const { adminKubeconfig, directory } = controlPlane();
  const program = await helmProgram();
  return new Promise((resolve, reject) => {
    const child = spawn(program, values === undefined ? args : [...args, '--values', '-'], {
      env: {
        ...process.env,
        KUBECONFIG: adminKubeconfig,
        HELM_CACHE_HOME: join(directory, 'helm'),
        HELM_CONFIG_HOME: join(directory, 'helm'),
        HELM_DATA_HOME: join(directory, 'helm'),
      },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject).on('close', (status) => resolve({ status, stdout, stderr }));
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(values) ?? '');
  });
}

/** Renders the chart with `helm template`. Throws with Helm's message if Helm refuses the values. */
export async function renderChart(values: object = {}, namespace = 'logfleet'): Promise<readonly RenderedObject[]> {
  const { status, stdout, stderr } = await helm(['template', 'logfleet', chart, '--namespace', namespace], values);
  if (status !== 0) throw new Error(stderr);
  return objectsOf(stdout);
}

/** Parses rendered manifests. */
export function objectsOf(text: string): readonly RenderedObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS({ maxAliasCount: -1 }) as RenderedObject | null)
    .filter((object) => object !== null);
}
