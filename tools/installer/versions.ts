/** Which versions of the programs are used. `tools/go.mod` alone says so, for archives and builds alike. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const modulesDirectory = join(import.meta.dirname, '..');

/** The version of a module as tools/go.mod requires it, as `v1.36.3`. */
export function requiredVersion(module: string): string {
  const text = readFileSync(join(modulesDirectory, 'go.mod'), 'utf8');
  const name = module.replaceAll('.', '\\.');
  const version = new RegExp(`^(?:require)?\\s*${name} (v\\S+)`, 'm').exec(text)?.[1];
  if (!version) throw new Error(`tools/go.mod requires no version of ${module}`);
  return version;
}
