/** How a person lets a paused resource go on, as a part of a sentence. */
import { annotations } from '../api/annotations.ts';
import type { TargetOptions } from './options.ts';
import { commandLine } from './person-action.ts';
import type { AnyResource } from './resource-access.ts';

/** Undefined where it is not paused. `options` lead to the resource, as they led whoever asks. */
export function wayOn(resource: AnyResource, options: TargetOptions): string | undefined {
  const steps = [
    ...(resource.spec.paused ? ['take paused: true out of its manifest'] : []),
    ...(isPausedByPerson(resource) ? [commandLine('resume', resource, options)] : []),
  ];
  return steps.length === 0 ? undefined : steps.join(', and ');
}

/** By the annotation that `logfleet pause` sets. */
export function isPausedByPerson({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}
