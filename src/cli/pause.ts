/**
 * `logfleet pause` and `logfleet resume` of one resource: an annotation that is set and taken away. What is in flight ends by itself:
 * the service cannot cancel it. All resources at once are in `pause-all.ts`.
 */
import { annotations } from '../api/annotations.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { act, renderInProgress } from './person-action.ts';
import { type AnyResource, type OpenResources, openResources } from './resource-access.ts';
import { isPausedByPerson, wayOn } from './way-on.ts';

export function pauseCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  return act(target, options, context, open, (resource) => {
    const already = isPausedByPerson(resource);
    const annotation = already ? undefined : { name: annotations.paused, value: 'true' };
    return { annotation, said: renderPause(resource, already, options) };
  });
}

export function resumeCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  return act(target, options, context, open, (resource) => {
    const already = !isPausedByPerson(resource);
    const annotation = already ? undefined : { name: annotations.paused, value: undefined };
    return { annotation, said: renderResumption(resource, already), isInVain: resource.spec.paused };
  });
}

function renderPause(resource: AnyResource, already: boolean, options: TargetOptions): string {
  const { metadata } = resource;
  const paused = {
    ...resource,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.paused]: 'true' } },
  };
  const state = already ? 'was paused already' : 'paused';
  return `${state}, nothing new is started${renderInProgress(resource)}. To go on: ${wayOn(paused, options)}`;
}

function renderResumption({ spec }: AnyResource, already: boolean): string {
  const said = already ? 'was not paused by annotation' : 'resumed';
  return spec.paused ? `${said}, but its spec says paused: true. Take that out of its manifest to go on.` : `${said}.`;
}
