/** A temporary directory of manifests with what is needed to open it; it goes when the test ends. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
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

  /** Long ago by the clock of the workplace, so that nobody waits for the end of the writing. */
  write(file: string, content: string | Uint8Array): void {
    this.writeNow(file, content);
    const longAgo = this.clock.now() / 1_000 - 3_600;
    utimesSync(this.path(file), longAgo, longAgo);
  }

  /** As a process that may not have written everything yet. */
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

  /** The same where the start waits: until files have stood unchanged, or until it is certain that a manifest was deleted. */
  openInTime(options: Partial<DirectoryHostOptions> = {}): Promise<DirectoryHost> {
    return this.passTime(this.open(options));
  }

  /** Lets time pass until this has come to its end. */
  async passTime<T>(waiting: Promise<T>): Promise<T> {
    let isOver = false;
    const ended = waiting.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    for (let turns = 1; !isOver; turns++) {
      await turn();
      if (turns % 50 === 0) await this.clock.advance(1_000);
    }
    return ended;
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
