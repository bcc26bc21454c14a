/**
 * Writes the provenance of a release (in-toto, SLSA provenance v1). The provenance names the commit and the tools from
 * which the files were built. It is not signed.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RuntimePackage } from './node-runtime.ts';

const root = join(import.meta.dirname, '../..');

export interface ReleaseBuild {
  readonly commit: string;
  /** Command line that builds the same files. */
  readonly command: string;
  readonly startedOn: Date;
  readonly runtimes: readonly RuntimePackage[];
}

/** Renders the statement about the given files. */
export function renderProvenance(
  files: readonly string[],
  { commit, command, startedOn, runtimes }: ReleaseBuild,
): string {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map((file) => ({ name: basename(file), digest: { sha256: sha256(file) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://logfleet.dev/build/make-release/v1',
        externalParameters: { command },
        internalParameters: { node: process.versions.node, platform: `${process.platform}-${process.arch}` },
        resolvedDependencies: [
          { name: 'logfleet', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: sha256(join(root, 'package-lock.json')) } },
          ...runtimes.map(runtimeDependency),
        ],
      },
      runDetails: {
        builder: { id: 'https://logfleet.dev/build/workstation' },
        metadata: { startedOn: startedOn.toISOString() },
      },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

function runtimeDependency({ name, version, integrity }: RuntimePackage): object {
  const sha512 = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  return { name, uri: `pkg:npm/${name}@${version}`, digest: { sha512 } };
}

/** Returns the SHA-256 of a file in hexadecimal digits. */
export function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
