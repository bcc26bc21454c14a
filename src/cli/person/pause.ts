/**
 * `logfleet pause` and `logfleet resume` for one resource: they set and remove an annotation. A pause does not stop upgrades in flight,
 * because the log service cannot cancel them. `pause-all.ts` pauses all resources.
 */

import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { AnyResource } from '../../api/kinds.ts';
import type { PauseOptions, TargetOptions } from '../options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { isComplete, isPausedByAnnotation, resumeStep, targetFlags } from '../render/next-steps.ts';
import type { ResourceReader } from '../resources/resource-reader.ts';
import { pauseAllCommand } from './pause-all.ts';
import { nothingToDo, type PersonCommand, personCommand, renderInFlight } from './person-action.ts';

const pauseOne = personCommand((resource, options) => {
  if (isComplete(resource)) throw nothingToDo(resource, 'it is already complete');
  const already = isPausedByAnnotation(resource);
  const annotation = already ? undefined : { name: annotations.paused, value: 'true' };
  return { annotation, report: renderPause(resource, already, options) };
});

const resumeOne = personCommand((resource, options, reader) => {
  const already = !isPausedByAnnotation(resource);
  const annotation = already ? undefined : { name: annotations.paused, value: undefined };
  const everything = pauseOfAll(resource, reader);
  const isIneffective = resource.spec.paused || everything !== undefined;
  return { annotation, report: renderResumption(resource, already, everything, options), isIneffective };
});

/** Pauses the resource `target`. If `target` is undefined (`--all`), pauses the whole operator. */
export const pauseCommand: PersonCommand<PauseOptions, string | undefined> = (target, options, context, ...ports) =>
  target === undefined ? pauseAllCommand(true, options, context) : pauseOne(target, options, context, ...ports);

/** Resumes the resource `target`. If `target` is undefined (`--all`), resumes the whole operator. */
export const resumeCommand: typeof pauseCommand = (target, options, context, ...ports) =>
  target === undefined ? pauseAllCommand(false, options, context) : resumeOne(target, options, context, ...ports);

function renderPause(resource: AnyResource, already: boolean, options: TargetOptions): string {
  const { metadata } = resource;
  const paused = {
    ...resource,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.paused]: 'true' } },
  };
  const state = already ? 'was already paused' : 'paused';
  return `${state}${renderInFlight(resource)}. To resume: ${resumeStep(paused, options)}`;
}

function renderResumption(
  { spec }: AnyResource,
  already: boolean,
  everything: string | undefined,
  { namespace: _, ...where }: TargetOptions,
): string {
  const done = already ? 'was not paused by annotation' : 'resumed';
  if (spec.paused)
    return `${done}, but spec.paused in the manifest still pauses the resource. To resume: remove paused: true from the manifest`;
  if (everything === undefined) return `${done}.`;
  return `${done}, but the whole operator is paused: ${everything} To resume: logfleet resume --all${targetFlags(where)}`;
}

/**
 * Returns a sentence with the cause of a pause of the whole operator, or undefined if none is known. In a cluster, the cause is read from
 * the status, and cannot be known if the resource itself is paused.
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
