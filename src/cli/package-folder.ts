/** Finds logfleet's own files, such as `crds/`, in a checkout and in an installed package. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Returns the absolute path of a file. `file` is relative to the folder of package.json. */
export function inPackage(file: string): string {
  return path.join(packageFolder, file);
}

const packageFolder = nearestPackage(import.meta.dirname);

function nearestPackage(folder: string): string {
  return existsSync(path.join(folder, 'package.json')) ? folder : nearestPackage(path.dirname(folder));
}
