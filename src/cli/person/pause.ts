/**
 * `logfleet pause` and `logfleet resume` for one resource: they set and remove an annotation. A pause does not stop upgrades in flight,
 * because the log service cannot cancel them. `pause-all.ts` pauses all resources.
 */

import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { AnyResource } from '../../api/kinds.ts';
import type { CommandContext } from '../context.ts';
import type { PauseOptions, TargetOptions } from '../options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { isComplete, isPausedByAnnotation, resumeStep, targetFlags } from '../render/next-steps.ts';
import { type OpenResources, openResources } from '../resources/resource-access.ts';
import type { ResourceReader } from '../resources/resource-reader.ts';
import { pauseAllCommand } from './pause-all.ts';
import { act, nothingToDo, renderInProgress } from './person-action.ts';

/** Pauses the resource `target`. If `target` is undefined (`--all`), pauses the whole operator. */
export function pauseCommand(
  target: string | undefined,
  options: PauseOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  if (target === undefined) return pauseAllCommand(true, options, context);
  return act(target, options, context, open, (resource) => {
    if (isComplete(resource)) throw nothingToDo(resource, 'it is already complete');
    const already = isPausedByAnnotation(resource);
    const annotation = already ? undefined : { name: annotations.paused, value: 'true' };
    return { annotation, report: renderPause(resource, already, options) };
  });
}

/** Resumes the resource `target`. If `target` is undefined (`--all`), resumes the whole operator. */
export function resumeCommand(
  target: string | undefined,
  options: PauseOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  if (target === undefined) return pauseAllCommand(false, options, context);
  return act(target, options, context, open, (resource, reader) => {
    const already = !isPausedByAnnotation(resource);
    const annotation = already ? undefined : { name: annotations.paused, value: undefined };
    const everything = pauseOfAll(resource, reader);
    const isIneffective = resource.spec.paused || everything !== undefined;
    return { annotation, report: renderResumption(resource, already, everything, options), isIneffective };
  });
}

function renderPause(resource: AnyResource, already: boolean, options: TargetOptions): string {
  const { metadata } = resource;
  const paused = {
    ...resource,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.paused]: 'true' } },
  };
  const state = already ? 'was already paused' : 'paused';
  return `${state}${renderInProgress(resource)}. To resume: ${resumeStep(paused, options)}`;
}

function renderResumption(
  { spec }: AnyResource,
  already: boolean,
  everything: string | undefined,
  { namespace: _, ...where }: TargetOptions,
): string {
  const done = already ? 'was not paused by annotation' : 'resumed';
  if (spec.paused) return `${done}, but spec.paused is true. To resume: remove paused: true from its manifest`;
  if (everything === undefined) return `${done}.`;
  return `${done}, but everything is paused: ${everything} To resume: logfleet resume --all${targetFlags(where)}`;
}

/**
 * Returns a sentence with the cause of a pause of the whole operator. Returns undefined if only this resource can be paused. In a cluster,
 * the status contains the cause, unless the resource itself is paused.
 */
function pauseOfAll(resource: AnyResource, reader: ResourceReader): string | undefined {
  if (reader.pauseOfAll) {
    const { pausedBy } = reader.pauseOfAll();
    return pausedBy === undefined ? undefined : `Paused by ${pausedBy}.`;
  }
  const isOwn = resource.spec.paused || isPausedByAnnotation(resource);
  const ready = conditionOf(resource.status, 'Ready');
  return !isOwn && ready?.reason === reasons.paused ? ready.message : undefined;
}
