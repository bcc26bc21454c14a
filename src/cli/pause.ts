/**
 * `logfleet pause` and, through `resume.ts`, `logfleet resume`: an annotation on a resource, so that a GitOps tool that owns the
 * spec does not undo what a person did. What is in flight ends by itself: the service cannot cancel it.
 */
import { annotations } from '../api/annotations.ts';
import { kinds } from '../api/kinds.ts';
import { type CommandContext, exitStatus } from './context.ts';
import type { TargetOptions } from './options.ts';
import {
  type AnyResource,
  findResource,
  type OpenResources,
  openResources,
  parseReference,
} from './resource-access.ts';

export function pauseCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  return setPaused(true, target, options, context, open);
}

/** Sets or takes away the annotation, says on stdout what that changed, and repeats nothing that is so already. */
export async function setPaused(
  paused: boolean,
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources,
): Promise<number> {
  const { kind, name } = parseReference(target);
  const reader = await open(options, context);
  try {
    const resource = await findResource(reader, kind, name, options.namespace);
    const already = isPaused(resource) === paused;
    if (!already) {
      await reader.annotate(kind, resource.metadata, { name: annotations.paused, value: paused ? 'true' : undefined });
    }
    const key = `${kinds[kind].shortNames[0]}/${name} in namespace ${resource.metadata.namespace}`;
    context.stdout.write(`${key}: ${outcome(paused, already, resource)}\n`);
    return exitStatus.ok;
  } finally {
    await reader.close();
  }
}

function isPaused({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}

function outcome(paused: boolean, already: boolean, { spec, metadata, status }: AnyResource): string {
  if (paused) {
    const inProgress = status?.collectors?.inProgress ?? 0;
    const tail =
      inProgress === 0
        ? 'nothing new is started'
        : `nothing new is started; ${inProgress} in progress end by themselves`;
    const wayOn = spec.paused ? 'take paused: true out of its manifest, and ' : '';
    return `${already ? 'was paused already' : 'paused'}, ${tail}. To go on: ${wayOn}logfleet resume cvp/${metadata.name}`;
  }
  const said = already ? 'was not paused by annotation' : 'resumed';
  return spec.paused ? `${said}, but its spec says paused: true. Take that out of its manifest to go on.` : `${said}.`;
}
