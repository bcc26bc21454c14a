/**
 * A real etcd and kube-apiserver for one test run. No controllers are running, so the objects in a deleted namespace
 * remain.
 */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type ControlPlaneTools, controlPlaneTools } from '../../scripts/tools.ts';
import { freePorts, type SupervisedProgram, startSupervised } from './supervised-program.ts';

/** Addresses and credentials of the control plane, in a form that can be passed between processes. */
export interface ControlPlaneAccess {
  /** Address of the API server, such as `https://127.0.0.1:PORT`. */
  readonly server: string;
  readonly caFile: string;
  readonly adminToken: string;
  readonly adminKubeconfig: string;
  /** Path of the kubectl that matches the API server's version. */
  readonly kubectl: string;
  /** Folder for the tests' temporary files, removed at the end of the run. */
  readonly directory: string;
}

export interface ControlPlane {
  readonly access: ControlPlaneAccess;
  stop(): Promise<void>;
}

const readyTimeoutMs = 600_000;
const readyPollMs = 50;
const attempts = 3;
const crds = join(import.meta.dirname, '../../crds');
const roles = join(import.meta.dirname, '../../manifests/roles');

/** Starts etcd and kube-apiserver with the project's CRDs and ClusterRoles. */
export async function startControlPlane(): Promise<ControlPlane> {
  const tools = await controlPlaneTools();
  for (let attempt = 1; ; attempt++) {
    const directory = mkdtempSync(join(tmpdir(), 'logfleet-control-plane-'));
    const programs: SupervisedProgram[] = [];
    const removeFiles = () => rmSync(directory, { recursive: true, force: true });
    // Removes the files when the process exits, because vitest does not run its teardown functions after Ctrl-C.
    process.once('exit', removeFiles);
    const stop = async () => {
      await Promise.all(programs.map((each) => each.stop()));
      process.removeListener('exit', removeFiles);
      removeFiles();
    };
    try {
      const access = await start(tools, directory, programs);
      await applyCrds(access);
      return { access, stop };
    } catch (error) {
      await stop();
      if (error instanceof RefusedCrds || attempt === attempts) throw error;
    }
  }
}

async function start(
  tools: ControlPlaneTools,
  directory: string,
  programs: SupervisedProgram[],
): Promise<ControlPlaneAccess> {
  const [clientPort, peerPort, securePort] = await freePorts(3);
  const etcd = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  programs.push(
    startSupervised(join(directory, 'etcd'), tools.etcd, [
      `--data-dir=${join(directory, 'etcd/data')}`,
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
    ]),
  );
  const apiserver = join(directory, 'kube-apiserver');
  mkdirSync(apiserver);
  const adminToken = randomBytes(16).toString('hex');
  writeFileSync(join(apiserver, 'tokens.csv'), `${adminToken},admin,admin,"system:masters"\n`);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(apiserver, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  writeFileSync(join(apiserver, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  programs.push(
    startSupervised(apiserver, tools.kubeApiserver, [
      `--etcd-servers=${etcd}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${securePort}`,
      `--cert-dir=${apiserver}`,
      `--token-auth-file=${join(apiserver, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(apiserver, 'sa.pub')}`,
      `--service-account-signing-key-file=${join(apiserver, 'sa.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--endpoint-reconciler-type=none',
      // The ServiceAccount admission plugin waits until a namespace has its default service account. No controller
      // creates this account in the test cluster, so the plugin is disabled.
      '--disable-admission-plugins=ServiceAccount',
    ]),
  );
  const access: ControlPlaneAccess = {
    server: `https://127.0.0.1:${securePort}`,
    // File in which the API server stores its certificate, followed by its CA certificate.
    caFile: join(apiserver, 'apiserver.crt'),
    adminToken,
    adminKubeconfig: join(directory, 'admin.kubeconfig'),
    kubectl: tools.kubectl,
    directory,
  };
  await ready(access, programs);
  writeFileSync(access.adminKubeconfig, renderKubeconfig(access, adminToken));
  return access;
}

/** Renders a kubeconfig with one user and one context, as JSON. */
export function renderKubeconfig(access: ControlPlaneAccess, token: string, namespace = 'default'): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: access.server, 'certificate-authority': access.caFile } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
    'current-context': 'test',
  });
}

async function ready(access: ControlPlaneAccess, programs: readonly SupervisedProgram[]): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs;
  for (;;) {
    if (await answersReady(access)) return;
    const dead = programs.find((each) => !each.runs());
    if (dead) throw new Error(`${dead.name} ended:\n${dead.log()}`);
    if (performance.now() > deadline) {
      throw new Error(`the API server is not ready:\n${programs.map((each) => each.log()).join('\n')}`);
    }
    await delay(readyPollMs);
  }
}

/** Returns false as long as the API server has no certificate. */
async function answersReady(access: ControlPlaneAccess): Promise<boolean> {
  let agent: Agent | undefined;
  try {
    agent = new Agent({ connect: { ca: readFileSync(access.caFile) } });
    const headers = { authorization: `Bearer ${access.adminToken}` };
    const response = await request(`${access.server}/readyz`, { dispatcher: agent, headers });
    await response.body.dump();
    return response.statusCode === 200;
  } catch {
    return false;
  } finally {
    await agent?.close();
  }
}

/** Thrown if the API server rejects the CRDs or ClusterRoles. Another control plane would reject them, too. */
class RefusedCrds extends Error {}

async function applyCrds(access: ControlPlaneAccess): Promise<void> {
  if (!readdirSync(crds).some((file) => file.endsWith('.yaml'))) return;
  const kubectl = (...args: string[]) => {
    const { status, stderr } = spawnSync(access.kubectl, ['--kubeconfig', access.adminKubeconfig, ...args]);
    return status === 0 ? undefined : `kubectl ${args.join(' ')}: ${stderr}`;
  };
  const apply = () => kubectl('apply', '--server-side', '-f', crds) ?? kubectl('apply', '--server-side', '-k', roles);
  // The first attempt can also fail because the API server responds too late on a busy machine.
  const refusal = apply() && apply();
  if (refusal !== undefined) throw new RefusedCrds(refusal);
  const deadline = performance.now() + readyTimeoutMs;
  for (;;) {
    // `kubectl wait` fails as long as a new CRD has no conditions, so the loop repeats it.
    const problem = kubectl('wait', '--for=condition=Established', '--timeout=10s', '-f', crds);
    if (problem === undefined) return;
    if (performance.now() > deadline) throw new RefusedCrds(problem);
    await delay(readyPollMs);
  }
}
