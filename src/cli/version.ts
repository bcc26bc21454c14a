/** `logfleet version`: prints the versions of logfleet, Node and the operator. */
import { readFileSync } from 'node:fs';
import { type CommandContext, exitStatus } from './context.ts';
import type { VersionOptions } from './options.ts';
import { inPackage } from './package-folder.ts';

export async function versionCommand(options: VersionOptions, context: CommandContext): Promise<number> {
  context.stdout.write(
    `logfleet ${packageVersion()} (node ${process.versions.node}, ${process.platform}-${process.arch})\n`,
  );
  if (!options.client) {
    const { namesCluster, printOperatorVersions } = await import('./operator-version.ts');
    if (namesCluster(options, context.env)) await printOperatorVersions(options, packageVersion(), context);
  }
  return exitStatus.ok;
}

/** Returns the version in package.json, such as `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(inPackage('package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
