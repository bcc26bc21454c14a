/** `logfleet version`: prints the versions of logfleet, Node and the operator. */
import { type CommandContext, exitStatus } from './command/context.ts';
import type { VersionOptions } from './command/options.ts';
import { packageVersion } from './command/package-folder.ts';

export async function versionCommand(options: VersionOptions, context: CommandContext): Promise<number> {
  context.stdout.write(
    `logfleet ${packageVersion()} (node ${process.versions.node}, ${process.platform}-${process.arch})\n`,
  );
  if (!options.client) {
    const { namesCluster, printOperatorVersions } = await import('./resources/operator-version.ts');
    if (namesCluster(options, context.env)) await printOperatorVersions(options, packageVersion(), context);
  }
  return exitStatus.ok;
}
