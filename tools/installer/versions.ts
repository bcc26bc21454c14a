/** Versions of the programs that the tests need, from the `go.mod` files in tools/. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const modulesDirectory = join(import.meta.dirname, '..');

/** Returns the version of a Go module that `go.mod` requires, such as `v1.36.3`. */
export function requiredVersion(module: string, directory = modulesDirectory): string {
  const file = join(directory, 'go.mod');
  const name = module.replaceAll('.', '\\.');
  const version = new RegExp(`^(?:require)?\\s*${name} (v\\S+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1];
  if (!version) throw new Error(`tools/${relative(modulesDirectory, file)} does not require a version of ${module}`);
  return version;
}
