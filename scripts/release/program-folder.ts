/** Writes the files of the published program: the bundle, its sources, and files that it reads at run time. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleProgram } from '../bundle.ts';
import { type BundledPackage, bundledPackages, renderLicenses } from './bundled-packages.ts';

const root = join(import.meta.dirname, '../..');
/**
 * Files and folders that are copied to the package. The program needs some of them at run time. The others are the
 * sources, the README, and the pages to which the README links.
 */
const copied = [
  ...['bin', 'crds', 'manifests', 'src', 'simulator'],
  ...['LICENSE', 'README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'docs', 'examples', 'charts'],
];
const tests = join(root, 'simulator/test');
const neededNode = '>=24';

/** Returns the version in package.json. */
export function packageVersion(): string {
  return readManifest().version;
}

/** Writes the program to the new folder `folder`. Returns the bundled npm packages. */
export async function writeProgram(folder: string): Promise<readonly BundledPackage[]> {
  mkdirSync(folder, { recursive: true });
  const packages = bundledPackages(await bundleProgram(folder));
  for (const path of copied) {
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (source) => source !== tests });
  }
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), renderLicenses(packages));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`);
  return packages;
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
