/**
 * Finds logfleet's own files, such as `crds/`, and reads its version. Works in a checkout and in an installed package.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Returns the absolute path of a file. `file` is relative to the folder of package.json. */
export function inPackage(file: string): string {
  return path.join(packageFolder, file);
}

const packageFolder = nearestPackage(import.meta.dirname);

function nearestPackage(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : nearestPackage(path.dirname(folder));
}

/** Returns the version in package.json, such as `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(inPackage('package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
