/** Writes the manifest from which krew installs `kubectl logfleet`. */
import { basename } from 'node:path';
import { stringify } from 'yaml';
import { tarballName } from './artifacts.ts';
import type { Platform } from './node-runtime.ts';
import { packageVersion } from './program-folder.ts';
import { sha256 } from './provenance.ts';

/** Names of CPU architectures in krew manifests, as in Go. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Renders the krew manifest. `url` is the address of the folder in which the tarballs are published. */
export function renderKrewManifest(tarballs: ReadonlyMap<Platform, string>, url: string): string {
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'logfleet' },
    spec: {
      version: `v${packageVersion()}`,
      homepage: url,
      shortDescription: 'Upgrade log collectors and export logs',
      description:
        'Plans, runs and watches log collector upgrades and log exports, using resources in the cluster or in a directory.\n',
      platforms: [...tarballs].map(([platform, file]) => entry(platform, file, url)),
    },
  });
}

function entry(platform: Platform, file: string, url: string): object {
  const [os, architecture = ''] = platform.split('-');
  return {
    selector: { matchLabels: { os, arch: architectures[architecture] } },
    uri: `${url}/${basename(file)}`,
    sha256: sha256(file),
    bin: `${tarballName(platform)}/bin/kubectl-logfleet`,
  };
}
