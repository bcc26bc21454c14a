/**
 * `logfleet pause` and `logfleet resume` of one resource: an annotation that is set and taken away. What is in flight ends by itself:
 * the service cannot cancel it. All resources at once are in `pause-all.ts`.
 */
import { annotations } from '../api/annotations.ts';
import { reasons } from '../api/conditions.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { act, nothingToDo, renderInProgress } from './person-action.ts';
import { conditionOf } from './render/condition-lines.ts';
import { type AnyResource, type OpenResources, openResources } from './resource-access.ts';
import { targetFlags } from './target-flags.ts';
import { isComplete, isPausedByPerson, wayOn } from './way-on.ts';

export function pauseCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  return act(target, options, context, open, (resource) => {
    if (isComplete(resource)) throw nothingToDo(resource, 'it is complete, so that there is nothing to pause');
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
    const isInVain = resource.spec.paused || pauseOfAll(resource) !== undefined;
    return { annotation, said: renderResumption(resource, already, options), isInVain };
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

function renderResumption(resource: AnyResource, already: boolean, { namespace: _, ...where }: TargetOptions): string {
  const said = already ? 'was not paused by annotation' : 'resumed';
  if (resource.spec.paused) return `${said}, but its spec says paused: true. Take that out of its manifest to go on.`;
  const all = pauseOfAll(resource);
  if (all === undefined) return `${said}.`;
  return `${said}, but everything is paused, as its status says: ${all} To go on: logfleet resume --all${targetFlags(where)}`;
}

/** What its status says of a pause that is not its own; undefined where it tells of none. */
function pauseOfAll({ status }: AnyResource): string | undefined {
  const ready = conditionOf(status, 'Ready');
  if (ready?.reason !== reasons.paused) return undefined;
  return [annotations.paused, 'spec.paused'].some((own) => ready.message.includes(own)) ? undefined : ready.message;
}
