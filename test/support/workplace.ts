/** Creates a temporary directory of manifests, which is removed after the test. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import {
  createDirectoryHost,
  type DirectoryHost,
  type DirectoryHostOptions,
} from '../../src/host/directory/directory-host.ts';
import type { OwnerRef } from '../../src/host/host.ts';
import { settleFiles, VirtualClock } from './virtual-clock.ts';

export class Workplace {
  readonly directory = mkdtempSync(join(tmpdir(), 'logfleet-directory-'));
  readonly clock = new VirtualClock(undefined, settleFiles);
  readonly random = seededRandom(Number.parseInt(this.directory.slice(-6), 36));

  constructor() {
    onTestFinished(() => rmSync(this.directory, { recursive: true, force: true }));
  }

  path(...parts: string[]): string {
    return join(this.directory, ...parts);
  }

  /** Writes a file with an old modification time, so that the reader reads it without waiting. */
  write(file: string, content: string | Uint8Array): void {
    this.writeAt(file, content, this.clock.now() - 3_600_000);
  }

  /** Writes a file with the modification time `atMs`. */
  writeAt(file: string, content: string | Uint8Array, atMs: number): void {
    this.writeNow(file, content);
    utimesSync(this.path(file), atMs / 1_000, atMs / 1_000);
  }

  /** Writes a file with the current modification time. The reader waits before reading such a recent file. */
  writeNow(file: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), content);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  remove(file: string): void {
    rmSync(this.path(file), { recursive: true });
  }

  /** Opens the directory with a new host. The previous host must have been closed. */
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

  /** Opens the directory, and advances the clock until the files are old enough to be read. */
  openInTime(options: Partial<DirectoryHostOptions> = {}): Promise<DirectoryHost> {
    return this.clock.during(this.open(options));
  }
}

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

export function get(host: Pick<DirectoryHost, 'resources'>, name: string): CollectorVersionPolicy {
  const resource = find(host, name);
  if (!resource) throw new Error(`there is no ${name}`);
  return resource;
}

export function ownerOf({ kind, metadata: { namespace, name, uid } }: CollectorVersionPolicy): OwnerRef {
  return { kind, namespace, name, uid };
}
