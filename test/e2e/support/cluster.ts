/** Vitest's `test`, extended for tests in a cluster. Each test gets its own logfleet installation. */
import { expect, vi } from 'vitest';
import type { CollectorVersionPolicy, SearchExport } from '../../../src/api/kinds.ts';
import { resourcePath } from '../../../src/host/kubernetes/api-paths.ts';
import { callApi, kubectl } from '../../support/control-plane.ts';
import { type Installation, install } from '../../support/installation.ts';
import type { ProgramResult } from '../../support/run-program.ts';
import { watchUntil } from '../../support/watch.ts';
import { test as endToEnd } from './end-to-end.ts';
import { type ExportPlace, volumePlace } from './exports.ts';
import { policyManifest, type SpecPart } from './manifest-directory.ts';
import type { Program, ProgramOptions } from './program.ts';
import type { Tenant } from './simulator.ts';

const kind = 'CollectorVersionPolicy';
type Policy = CollectorVersionPolicy;

/** Namespace in which logfleet is installed. Its methods act as a cluster administrator. */
export class Namespace {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  async kubectl(args: readonly string[], input?: string): Promise<ProgramResult> {
    return kubectl(['--namespace', this.name, ...args], input === undefined ? {} : { input });
  }

  /** Runs `kubectl apply`. If it fails, throws an error with kubectl's message. */
  async apply(...manifests: readonly object[]): Promise<void> {
    const { status, stderr } = await this.kubectl(
      ['apply', '-f', '-'],
      manifests.map((each) => JSON.stringify(each)).join('\n---\n'),
    );
    expect(stderr).toBe('');
    expect(status).toBe(0);
  }

  policyManifest(name: string, spec: SpecPart = {}): object {
    return { ...policyManifest(name, spec), metadata: { name, namespace: this.name } };
  }

  /**
   * Returns a Secret with the credentials of the service user `tenant`. `members` adds or replaces keys of the Secret.
   */
  secretManifest(tenant: Tenant, members: Readonly<Record<string, string>> = {}): object {
    const metadata = { name: 'log-service', namespace: this.name };
    return { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { ...tenant.secret, ...members } };
  }

  async policy(name: string): Promise<Policy> {
    const { status, body } = await callApi('GET', resourcePath(kind, this.name, name));
    expect(status).toBe(200);
    return body as Policy;
  }

  policyUntil(name: string, done: (policy: Policy) => boolean): Promise<Policy> {
    return watchUntil<Policy>(resourcePath(kind, this.name), name, done);
  }

  exportUntil(name: string, done: (resource: SearchExport) => boolean): Promise<SearchExport> {
    return watchUntil<SearchExport>(resourcePath('SearchExport', this.name), name, done);
  }

  /** Edits an export without an effect on its work, and waits until the operator has seen the edit. */
  async editExport(name: string): Promise<SearchExport> {
    const patch = '{"spec":{"ttlSecondsAfterFinished":1000000}}';
    const { stdout } = await this.kubectl(['patch', 'sx', name, '--type=merge', '--patch', patch, '--output', 'json']);
    const { generation } = (JSON.parse(stdout) as SearchExport).metadata;
    return this.exportUntil(name, ({ status }) => status?.observedGeneration === generation);
  }

  exportReason(name: string, reason: string): Promise<SearchExport> {
    return this.exportUntil(name, (resource) => conditionOf(resource, 'Ready')?.reason === reason);
  }

  /** Waits until a resource has Events with these reasons. The operator writes the Events after the status. */
  async events({ kind, metadata: { name, uid } }: Policy | SearchExport, reasons: readonly string[]): Promise<void> {
    const selector = `involvedObject.kind=${kind},involvedObject.name=${name},involvedObject.uid=${uid}`;
    const hasAll = async () => {
      const { stdout } = await this.kubectl(['get', 'events', '--field-selector', selector, '--output', 'json']);
      const reported = (JSON.parse(stdout).items as { readonly reason: string }[]).map(({ reason }) => reason);
      return reasons.every((reason) => reported.includes(reason));
    };
    await vi.waitUntil(hasAll, { timeout: 300_000 });
  }

  reason(name: string, reason: string, type = 'Ready'): Promise<Policy> {
    return this.policyUntil(name, (policy) => conditionOf(policy, type)?.reason === reason);
  }
}

export function conditionOf(resource: Policy | SearchExport, type: string) {
  return resource.status?.conditions?.find((condition) => condition.type === type);
}

export const test = endToEnd
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('installation', ({}): Promise<Installation> => install('namespaced'))
  .extend('namespace', ({ installation }) => new Namespace(installation.namespace))
  // biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
  .extend('place', ({}, { onCleanup }): ExportPlace => {
    const place = volumePlace();
    onCleanup(() => place.remove());
    return place;
  })
  // Each operator has its own name, as a pod would.
  .extend(
    'operator',
    ({ start, installation }) =>
      (pod = 'logfleet-0', flags: readonly string[] = [], options: ProgramOptions = {}): Promise<Program> => {
        const { kubeconfig, namespace } = installation;
        const where = ['--kubeconfig', kubeconfig, '--namespaces', namespace, '--operator-namespace', namespace];
        const env = { POD_NAME: pod, ...options.env };
        return start(['run', ...where, '--grace', '1s', ...flags], { ...options, env });
      },
  );
