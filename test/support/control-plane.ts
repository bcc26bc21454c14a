/** Access to the test run's control plane. Each test file creates its own namespaces. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, request } from 'undici';
import { inject } from 'vitest';
import { type ControlPlaneAccess, renderKubeconfig } from './control-plane-process.ts';
import './control-plane-setup.ts';
import { patientAgent } from './patient-agent.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

export type { ControlPlaneAccess } from './control-plane-process.ts';

export function controlPlane(): ControlPlaneAccess {
  return inject('controlPlane');
}

export interface ApiResponse {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read bodies of any type.
  readonly body: any;
}

let agent: Agent | undefined;

/** Sends a request to the API server, as the administrator or with another token. */
export async function callApi(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  options: { readonly token?: string; readonly contentType?: string } = {},
): Promise<ApiResponse> {
  const access = controlPlane();
  agent ??= patientAgent(access.caFile, { keepAliveTimeout: 1_000 });
  const response = await request(`${access.server}${path}`, {
    method,
    dispatcher: agent,
    headers: {
      authorization: `Bearer ${options.token ?? access.adminToken}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.body.text();
  return { status: response.statusCode, body: text.startsWith('{') ? JSON.parse(text) : text };
}

/** Creates a namespace with a unique name, which exists until the end of the run. */
export async function createNamespace(prefix = 'test'): Promise<string> {
  const metadata = { generateName: `${prefix}-` };
  return expectMade(await callApi('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata }))
    .metadata.name;
}

/** Access to the API server with the permissions of a service account. */
export interface ServiceAccountUser {
  readonly token: string;
  /** Path of a kubeconfig that authenticates as the service account, in its namespace. */
  readonly kubeconfig: string;
}

/** Creates a token for a service account, and the service account if it does not exist. */
export async function userFor(namespace: string, serviceAccount: string): Promise<ServiceAccountUser> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccount } };
  const made = await callApi('POST', accounts, account);
  if (made.status !== 409) expectMade(made);
  const wish = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7_200 } };
  const { status } = expectMade(await callApi('POST', `${accounts}/${serviceAccount}/token`, wish));
  const access = controlPlane();
  const kubeconfig = join(access.directory, `${namespace}.${serviceAccount}.kubeconfig`);
  writeFileSync(kubeconfig, renderKubeconfig(access, status.token, namespace));
  return { token: status.token, kubeconfig };
}

/**
 * Runs kubectl as the administrator, or with another kubeconfig. `input` is passed to its standard input. Runs kubectl
 * again if it could not connect within its time limit of 10 s, which a busy machine can exceed.
 */
export async function kubectl(
  args: readonly string[],
  { kubeconfig, input }: { readonly kubeconfig?: string; readonly input?: string | Uint8Array } = {},
): Promise<ProgramResult> {
  const access = controlPlane();
  for (;;) {
    const allArgs = ['--kubeconfig', kubeconfig ?? access.adminKubeconfig, ...args];
    const result = await runProgram(access.kubectl, allArgs, { input });
    if (!result.stderr.includes('TLS handshake timeout')) return result;
  }
}

function expectMade(response: ApiResponse): ApiResponse['body'] {
  if (response.status !== 201)
    throw new Error(`the API server returned ${response.status}: ${JSON.stringify(response.body)}`);
  return response.body;
}
