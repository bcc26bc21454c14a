/**
 * Common code for the commands `pause`, `resume`, `approve`, `retry` and `abort`. They write annotations instead of
 * changing the spec, because a GitOps tool would revert a change to the spec.
 */

import type { Rollout } from '../../api/generated/collector-version-policy.ts';
import { type AnyResource, type CollectorVersionPolicy, referenceOf } from '../../api/kinds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import type { TargetOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { commandLine, resumeStep } from '../render/next-steps.ts';
import { viewOf } from '../render/resource-view.ts';
import { findResource, type OpenResources, openResources, parseReference } from '../resources/resource-access.ts';
import type { Annotation, ResourceReader } from '../resources/resource-reader.ts';

export interface PersonAction {
  /** Annotation to write or remove. Undefined if the annotation already has the wanted value. */
  readonly annotation: Annotation | undefined;
  /** Result, printed after the name of the resource. */
  readonly report: string;
  /** True if the command cannot do what the user asked for. In that case, its exit status is 1. */
  readonly isIneffective?: boolean;
}

export type PersonCommand<Options, Target = string> = (
  target: Target,
  options: Options,
  context: CommandContext,
  open?: OpenResources,
  clock?: Clock,
) => Promise<number>;

/** Creates a command that writes the annotation that `decide` returns. */
export function personCommand<Options extends TargetOptions>(decide: Decide<Options>): PersonCommand<Options> {
  return async (target, options, context, open = openResources, clock = systemClock) => {
    const { kind, name } = parseReference(target);
    const reader = await open(options, context);
    try {
      const resource = await findResource(reader, kind, name, options);
      const { annotation, report, isIneffective = false } = decide(resource, options, reader, clock);
      if (annotation) await reader.annotate(kind, resource.metadata, annotation);
      const { namespace } = resource.metadata;
      const reference = referenceOf(kind, { name });
      context.stdout.write(`${reference} in namespace ${namespace}: ${report}\n`);
      return isIneffective ? exitStatus.failed : exitStatus.ok;
    } finally {
      // Warns if no operator is running, because then no process reads the request, and the shown status may be
      // outdated.
      const idle = await reader.idleNote();
      if (idle !== undefined) context.stderr.write(`${idle}\n`);
      await reader.close();
    }
  };
}

type Decide<Options> = (resource: AnyResource, options: Options, reader: ResourceReader, clock: Clock) => PersonAction;

/**
 * Returns a function that passes a policy and its current rollout to `decide`. This function throws if the policy has
 * no rollout.
 */
export function rolloutAction<Options extends TargetOptions>(
  name: 'approve' | 'retry' | 'abort',
  decide: (policy: CollectorVersionPolicy, rollout: Rollout, options: Options, clock: Clock) => PersonAction,
): Decide<Options> {
  return (resource, options, _reader, clock) => {
    if (resource.kind !== 'CollectorVersionPolicy') {
      const { kind, metadata } = resource;
      const end = commandLine('pause', resource, options);
      throw new UsageError(
        `${referenceOf(kind, metadata)} is a ${kind}, which has no rollout, so logfleet ${name} cannot be used. Searches are retried automatically. To stop them, delete the manifest or run: ${end}`,
      );
    }
    const { status } = resource;
    if (!status)
      throw nothingToDo(
        resource,
        'no operator has read the policy yet, so it has no rollout: wait until its status appears',
      );
    if (status.rollout) return decide(resource, status.rollout, options, clock);
    const state = status.summary?.state;
    const why = state === undefined ? '' : ` (${state})`;
    throw nothingToDo(resource, `there is no rollout to ${name}${why}`);
  };
}

/** Returns a sentence that says how to resume a paused resource, or an empty string if the resource is not paused. */
export function renderPaused(resource: AnyResource, options: TargetOptions): string {
  const resume = resumeStep(resource, options);
  return resume === undefined ? '' : ` The resource is paused. To resume: ${resume}`;
}

/** Returns the error for a command that has nothing to do. `message` is the reason. */
export function nothingToDo(resource: AnyResource, message: string): LogfleetError {
  return failure('wait', 'cli.nothingToDo', `${referenceOf(resource.kind, resource.metadata)}: ${message}`);
}

/** Returns a sentence about upgrades and searches in flight, which a pause does not stop. */
export function renderInFlight(resource: AnyResource): string {
  const text = resource.status && viewOf(resource).inFlight(resource.status);
  return text === undefined ? '' : `; ${text}`;
}
