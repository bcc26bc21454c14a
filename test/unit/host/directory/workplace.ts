/** A temporary directory of manifests with what is needed to open it; it goes when the test ends. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import {
  createDirectoryHost,
  type DirectoryHost,
  type DirectoryHostOptions,
} from '../../../../src/host/directory/directory-host.ts';
import type { OwnerRef } from '../../../../src/host/host.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

export class Workplace {
  readonly directory = mkdtempSync(join(tmpdir(), 'logfleet-directory-'));
  readonly clock = new VirtualClock();
  readonly random = seededRandom(Number.parseInt(this.directory.slice(-6), 36));

  constructor() {
    onTestFinished(() => rmSync(this.directory, { recursive: true, force: true }));
  }

  path(...parts: string[]): string {
    return join(this.directory, ...parts);
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  remove(file: string): void {
    rmSync(this.path(file), { recursive: true });
  }

  /** Opened by one process after the other: close it before the next one. */
  async open(options: Partial<DirectoryHostOptions> = {}): Promise<DirectoryHost> {
    const host = await createDirectoryHost({
      directories: [this.directory],
      clock: this.clock,
      random: this.random,
      log: silentLogger,
      ...options,
    });
    onTestFinished(() => host.close());
    return host;
  }
}

/** A manifest with a version that tests vary. */
export function policy(name: string, version = '19.500-1', extra = ''): string {
  return `apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata:
  name: ${name}
  namespace: logging
${extra}spec:
  credentialsSecretRef: {name: log-service}
  target: {version: ${version}}
  selector: {}
`;
}

export function find(host: Pick<DirectoryHost, 'resources'>, name: string): CollectorVersionPolicy | undefined {
  return host.resources('CollectorVersionPolicy').get({ namespace: 'logging', name });
}

/** The one of that name, which must be there. */
export function get(host: Pick<DirectoryHost, 'resources'>, name: string): CollectorVersionPolicy {
  const resource = find(host, name);
  if (!resource) throw new Error(`there is no ${name}`);
  return resource;
}

export function ownerOf({ kind, metadata: { namespace, name, uid } }: CollectorVersionPolicy): OwnerRef {
  return { kind, namespace, name, uid };
}
