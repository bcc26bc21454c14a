/**
 * What `pause`, `resume`, `approve`, `retry` and `abort` share: one annotation on one resource, so that a GitOps tool that owns the
 * spec does not undo what a person did, and a sentence on stdout that says what comes of it.
 *
 * Leaves to the commands which annotation that is, or why there is nothing to do.
 */
import { type CollectorVersionPolicy, kinds, type SearchExport } from '../api/kinds.ts';
import { LogfleetError } from '../base/errors.ts';
import { type CommandContext, exitStatus } from './context.ts';
import type { TargetOptions } from './options.ts';
import {
  type Annotation,
  type AnyResource,
  findResource,
  type OpenResources,
  parseReference,
} from './resource-access.ts';
import { targetFlags } from './target-flags.ts';
import { UsageError } from './usage-error.ts';

export interface PersonAction {
  /** Undefined where it is so already. */
  readonly annotation: Annotation | undefined;
  /** Goes on from "cvp/production in namespace logging: ". */
  readonly said: string;
  /** Whether it does not come to what was asked, so that the command ends with 1. */
  readonly isInVain?: boolean;
}

/** Does to the resource that `target` names what `decide` makes of it. Throws what `decide` throws, and then changes nothing. */
export async function act(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources,
  decide: (resource: AnyResource) => PersonAction,
): Promise<number> {
  const { kind, name } = parseReference(target);
  const reader = await open(options, context);
  try {
    const resource = await findResource(reader, kind, name, options);
    const { annotation, said, isInVain = false } = decide(resource);
    if (annotation) await reader.annotate(kind, resource.metadata, annotation);
    context.stdout.write(`${referenceOf(resource)} in namespace ${resource.metadata.namespace}: ${said}\n`);
    const idle = await reader.idleNote?.();
    if (idle !== undefined) context.stderr.write(`${idle}\n`);
    return isInVain ? exitStatus.failed : exitStatus.ok;
  } finally {
    await reader.close();
  }
}

/** The same of a policy. An export, which has no rollout, is refused with `why`, to go on from "sx/errors is an export". */
export function actOnPolicy(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources,
  why: (resource: SearchExport) => string,
  decide: (policy: CollectorVersionPolicy) => PersonAction,
): Promise<number> {
  return act(target, options, context, open, (resource) => {
    if (resource.kind === 'CollectorVersionPolicy') return decide(resource);
    throw new UsageError(`${referenceOf(resource)} is an export${why(resource)}`);
  });
}

/** `cvp/production` */
export function referenceOf({ kind, metadata }: AnyResource): string {
  return `${kinds[kind].shortNames[0]}/${metadata.name}`;
}

/** Another command about the same resource, as a person can paste it. */
export function commandLine(command: string, resource: AnyResource, options: TargetOptions): string {
  return `logfleet ${command} ${referenceOf(resource)}${targetFlags(options)}`;
}

/** Why a command does nothing: what it is for does not stand there. `message` says so, and what to do instead. */
export function nothingToDo(resource: AnyResource, message: string): LogfleetError {
  return new LogfleetError({
    code: 'cli.nothingToDo',
    handling: { kind: 'wait' },
    message: `${referenceOf(resource)}: ${message}`,
  });
}

/** `; 6 in progress end by themselves`, since nothing cancels them; empty where there are none. */
export function renderInProgress(resource: AnyResource): string {
  switch (resource.kind) {
    case 'CollectorVersionPolicy': {
      const inProgress = resource.status?.collectors?.inProgress ?? 0;
      if (inProgress === 0) return '';
      return `; ${inProgress} in progress ${inProgress === 1 ? 'ends by itself' : 'end by themselves'}`;
    }
    case 'SearchExport': {
      const searches = resource.status?.jobs?.length ?? 0;
      if (searches === 0) return '';
      return `; ${searches === 1 ? 'the search that runs is' : `${searches} searches that run are`} read to the end`;
    }
  }
}
