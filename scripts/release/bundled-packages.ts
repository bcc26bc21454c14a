/** Finds the npm packages in a bundle, and their licenses. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

const root = join(import.meta.dirname, '../..');

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, such as `MIT`. */
  readonly license: string;
  /** Texts of the package's license and notice files. */
  readonly texts: readonly string[];
}

/** Returns the npm packages in a bundle, sorted by name and version. */
export function bundledPackages(metafile: Metafile): readonly BundledPackage[] {
  const inputs = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const folders = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (folderOf(path) ?? []) : []));
  const packages = [...new Set(folders)].sort().map(readPackage);
  return [...new Map(packages.map((each) => [`${each.name}@${each.version}`, each])).values()];
}

/**
 * Returns the folder of a file's npm package, or undefined for a file of logfleet. `path` can begin with an esbuild
 * namespace and a colon.
 */
function folderOf(path: string): string | undefined {
  return /(?<=^|:)[^:]*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  if (typeof license !== 'string')
    throw new Error(
      `${folder}/package.json does not name a license: ask the package's authors, or replace the package.`,
    );
  const files = readdirSync(join(root, folder)).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  return {
    name,
    version,
    license,
    texts: files.sort().map((file) => readFileSync(join(root, folder, file), 'utf8').trim()),
  };
}

/** Renders the file `THIRD-PARTY-LICENSES`. */
export function renderLicenses(packages: readonly BundledPackage[]): string {
  const sections = packages.map(({ name, version, license, texts }) => {
    const text =
      texts.length > 0 ? texts.join('\n\n') : `The package names its license, but does not contain the license text.`;
    return `${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n\n${text}\n`;
  });
  return ['The logfleet bundle contains code from the following npm packages.\n', ...sections].join('\n');
}
