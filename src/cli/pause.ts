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
import { isPausedByPerson, wayOn } from './way-on.ts';

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
    const resource = await findResource(reader, kind, name, options);
    const already = isPausedByPerson(resource) === paused;
    const value = paused ? 'true' : undefined;
    if (!already) await reader.annotate(kind, resource.metadata, { name: annotations.paused, value });
    const { namespace } = resource.metadata;
    const said = paused ? renderPause(resource, already, options) : renderResumption(resource, already);
    context.stdout.write(`${kinds[kind].shortNames[0]}/${name} in namespace ${namespace}: ${said}\n`);
    return exitStatus.ok;
  } finally {
    await reader.close();
  }
}

function renderPause(resource: AnyResource, already: boolean, options: TargetOptions): string {
  const inProgress = resource.status?.collectors?.inProgress ?? 0;
  const ending =
    inProgress === 0 ? '' : `; ${inProgress} in progress ${inProgress === 1 ? 'ends by itself' : 'end by themselves'}`;
  const { metadata } = resource;
  const paused = {
    ...resource,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.paused]: 'true' } },
  };
  const state = already ? 'was paused already' : 'paused';
  return `${state}, nothing new is started${ending}. To go on: ${wayOn(paused, options)}`;
}

function renderResumption({ spec }: AnyResource, already: boolean): string {
  const said = already ? 'was not paused by annotation' : 'resumed';
  return spec.paused ? `${said}, but its spec says paused: true. Take that out of its manifest to go on.` : `${said}.`;
}
