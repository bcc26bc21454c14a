/** Runs Helm with the project's chart, and without the user's Helm configuration. */
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { helmProgram } from '../../tools/installer/helm.ts';
import { controlPlane } from './control-plane.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

export const chart = join(import.meta.dirname, '../../charts/logfleet');

/** An object rendered by Helm or kustomize. */
export interface RenderedObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the fields depend on the kind of the object.
  readonly [field: string]: any;
}

/** Runs Helm with these values against the test run's control plane. */
export async function helm(args: readonly string[], values?: object): Promise<ProgramResult> {
  const { adminKubeconfig, directory } = controlPlane();
  const folder = join(directory, 'helm');
  const folders = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
  const env = { ...process.env, KUBECONFIG: adminKubeconfig, ...folders };
  const program = await helmProgram();
  if (values === undefined) return runProgram(program, args, { env });
  return runProgram(program, [...args, '--values', '-'], { env, input: JSON.stringify(values) });
}

/** Renders the chart. Throws an error with Helm's message if Helm rejects the values. */
export async function renderChart(
  values: object = {},
  namespace = 'logfleet',
  release = 'logfleet',
): Promise<readonly RenderedObject[]> {
  const { status, stdout, stderr } = await helm(['template', release, chart, '--namespace', namespace], values);
  if (status !== 0) throw new Error(stderr);
  return objectsOf(stdout);
}

/** Parses rendered manifests. */
export function objectsOf(text: string): readonly RenderedObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS({ maxAliasCount: -1 }) as RenderedObject | null)
    .filter((object) => object !== null);
}
