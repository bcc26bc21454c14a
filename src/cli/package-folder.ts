/**
 * Finds files that logfleet reads at run time, such as `crds/`. Paths start at the folder of logfleet's package.json, because that
 * folder has the same content in a checkout and in an installed package. Only the place of the code differs: `src/` or `dist/`.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Returns the absolute path of a file of logfleet's package. `file` is relative to the folder of package.json. */
export function inPackage(file: string): string {
  return path.join(packageFolder, file);
}

const packageFolder = nearestPackage(import.meta.dirname);

function nearestPackage(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : nearestPackage(path.dirname(folder));
}
