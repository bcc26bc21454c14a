/**
 * Writes the files of the published program: the bundle, the files that it reads at run time, the sources and the
 * documentation.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleProgram } from '../bundle.ts';
import { type BundledPackage, bundledPackages, renderLicenses } from './bundled-packages.ts';

const root = join(import.meta.dirname, '../..');
/** Files and folders that the program needs at run time. */
const needed = ['crds', 'manifests', 'LICENSE'];
/** Launcher, sources, README, and the pages to which the README links. */
const additional = [
  ...['bin', 'src', 'simulator'],
  ...['README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'docs', 'examples', 'charts'],
];
const tests = join(root, 'simulator/test');
const neededNode = '>=24';

/** Returns the version in package.json. */
export function packageVersion(): string {
  return readManifest().version;
}

/** Writes the program to the new folder `folder`, with only what it needs at run time. Returns the bundled npm packages. */
export async function writeProgram(folder: string): Promise<readonly BundledPackage[]> {
  mkdirSync(folder, { recursive: true });
  const packages = bundledPackages(await bundleProgram(folder));
  copyTo(folder, needed);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), renderLicenses(packages));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`);
  return packages;
}

/** Adds the launcher, the sources and the documentation to a folder with the program. */
export function addSources(folder: string): void {
  copyTo(folder, additional);
}

function copyTo(folder: string, paths: readonly string[]): void {
  for (const path of paths) {
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (source) => source !== tests });
  }
}

/** Returns the published package.json. It has no dependencies, because the bundle contains them. */
function publishedManifest(): object {
  const { name, version, description, license, type, bin } = readManifest();
  return { name, version, description, license, type, bin, engines: { node: neededNode } };
}

interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly type: string;
  readonly bin: Readonly<Record<string, string>>;
}

function readManifest(): PackageManifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
}
