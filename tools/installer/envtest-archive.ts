/**
 * Downloads etcd, kube-apiserver and kubectl from the Kubernetes project's archive for tests (envtest), and checks its
 * checksum.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { get, unpack } from './download.ts';
import { startStep } from './progress.ts';

const releaseIndexURL = 'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml';

const indexTimeoutMs = 10_000;
const downloadTimeoutMs = 600_000;

/** Release index: the URL and SHA-512 checksum of each archive, by version. */
interface ReleaseIndex {
  readonly releases: Readonly<
    Record<string, Readonly<Record<string, { readonly hash: string; readonly selfLink: string }>>>
  >;
}

/** An archive with etcd, kube-apiserver and kubectl. */
export interface EnvtestArchive {
  readonly version: string;
  readonly url: string;
  readonly sha512: string;
}

/**
 * Returns the archive of the wanted version (`v1.36.3`) for the platform. If there is none, returns the archive of the
 * newest patch release of the same minor version.
 */
export function chooseArchive(index: ReleaseIndex, wanted: string, platform: string): EnvtestArchive | undefined {
  const minor = wanted.slice(0, wanted.lastIndexOf('.') + 1);
  const patch = (version: string) =>
    /^\d+$/.test(version.slice(minor.length)) ? Number(version.slice(minor.length)) : -1;
  const candidates = Object.keys(index.releases)
    .filter((version) => version.startsWith(minor) && patch(version) >= 0)
    .sort((left, right) => patch(right) - patch(left));
  for (const version of [wanted, ...candidates]) {
    const file = index.releases[version]?.[`envtest-${version}-${platform}.tar.gz`];
    if (file) return { version, url: file.selfLink, sha512: file.hash };
  }
  return undefined;
}

/**
 * Downloads the archive and puts `programs` from it into `directory`. Throws an error with the reason if this fails.
 */
export async function downloadArchive(
  wanted: string,
  programs: readonly string[],
  directory: string,
  indexURL = releaseIndexURL,
): Promise<void> {
  const step = startStep(`downloading Kubernetes ${wanted} for tests (etcd, kube-apiserver, kubectl)`);
  try {
    const index: ReleaseIndex = parse(Buffer.from(await get(indexURL, indexTimeoutMs)).toString());
    const archive = chooseArchive(index, wanted, goPlatform());
    if (!archive) throw new Error(`there is no archive of version ${wanted} for ${goPlatform()}`);
    const bytes = await get(archive.url, downloadTimeoutMs);
    if (createHash('sha512').update(bytes).digest('hex') !== archive.sha512.toLowerCase()) {
      throw new Error(`the checksum of ${archive.url} differs from the one in the index`);
    }
    unpack(bytes, 'controller-tools/envtest', programs, directory);
    writeFileSync(join(directory, 'VERSION'), `${archive.version}\n`);
    step.end('done');
  } finally {
    step.end();
  }
}

/** Returns the platform in Go's notation, such as `linux-amd64`. */
export function goPlatform(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return `${system}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
}
