/** Which versions of the programs are used. The `go.mod` files of tools/ alone say so, for archives and builds alike. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const modulesDirectory = join(import.meta.dirname, '..');
/** What the S3 gateway is built from, kept apart from the modules of Kubernetes. */
export const gatewayModulesDirectory = join(modulesDirectory, 's3-gateway');

/** The version of a module as the go.mod of a folder requires it, as `v1.36.3`. */
export function requiredVersion(module: string, directory = modulesDirectory): string {
  const file = join(directory, 'go.mod');
  const name = module.replaceAll('.', '\\.');
  const version = new RegExp(`^(?:require)?\\s*${name} (v\\S+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1];
  if (!version) throw new Error(`tools/${relative(modulesDirectory, file)} requires no version of ${module}`);
  return version;
}
