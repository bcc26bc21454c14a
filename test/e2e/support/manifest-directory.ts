/** Directory of manifests, in which the operator also stores its state. */
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CollectorVersionPolicySpec } from '../../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy, SearchExport } from '../../../src/api/kinds.ts';
import { targetVersion } from './simulator.ts';

/** Part of a policy's spec. */
export type SpecPart = { readonly [M in keyof CollectorVersionPolicySpec]?: unknown };

export class ManifestDirectory {
  readonly path: string;

  static async make(): Promise<ManifestDirectory> {
    return new ManifestDirectory(await mkdtemp(join(tmpdir(), 'logfleet-e2e-')));
  }

  private constructor(path: string) {
    this.path = path;
  }

  async policy(name: string, spec: SpecPart = {}): Promise<void> {
    await this.write(`${name}.yaml`, JSON.stringify(policyManifest(name, spec), undefined, 2));
  }

  /** Writes a file. No other process can read only a part of it. */
  async write(file: string, text: string): Promise<void> {
    const unfinished = `${this.path}.unfinished`;
    await writeFile(unfinished, text);
    await rename(unfinished, join(this.path, file));
  }

  async delete(file: string): Promise<void> {
    await rm(join(this.path, file));
  }

  async status(name: string): Promise<CollectorVersionPolicy> {
    const file = join(this.path, '.logfleet/status/CollectorVersionPolicy/logging', `${name}.json`);
    return (JSON.parse(await readFile(file, 'utf8')) as { readonly resource: CollectorVersionPolicy }).resource;
  }

  async export(name: string): Promise<SearchExport> {
    const file = join(this.path, '.logfleet/status/SearchExport/logging', `${name}.json`);
    return (JSON.parse(await readFile(file, 'utf8')) as { readonly resource: SearchExport }).resource;
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Returns a policy for all of a user's collectors, with intervals short enough for tests. */
export function policyManifest(name: string, spec: SpecPart = {}): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: { name, namespace: 'logging' },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      target: { version: targetVersion },
      selector: {},
      resyncInterval: '10s',
      strategy: { maxInProgress: 100 },
      retryPolicy: { limit: 2, backoff: { duration: '1s', factor: 1, cap: '1s' } },
      ...spec,
    },
  };
}
