/** `logfleet resume`: takes away what `logfleet pause` set. */
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { setPaused } from './pause.ts';
import { type OpenResources, openResources } from './resource-access.ts';

export function resumeCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  return setPaused(false, target, options, context, open);
}
