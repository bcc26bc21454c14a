/** `logfleet version`: prints the version of logfleet and the version of Node. */
import { readFileSync } from 'node:fs';
import { type CommandContext, exitStatus } from './context.ts';
import { inPackage } from './package-folder.ts';

export async function versionCommand(_: object, context: CommandContext): Promise<number> {
  context.stdout.write(
    `logfleet ${packageVersion()} (node ${process.versions.node}, ${process.platform}-${process.arch})\n`,
  );
  return exitStatus.ok;
}

/** Returns the version in package.json, such as `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(inPackage('package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
