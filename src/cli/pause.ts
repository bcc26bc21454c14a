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
    const undo = `logfleet resume ${target}${targetFlags(options)}`;
    context.stdout.write(`${key}: ${outcome(paused, already, resource, undo)}\n`);
    return exitStatus.ok;
  } finally {
    await reader.close();
  }
}

function isPaused({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}

function outcome(paused: boolean, already: boolean, { spec, status }: AnyResource, undo: string): string {
  if (paused) {
    const inProgress = status?.collectors?.inProgress ?? 0;
    const tail =
      inProgress === 0
        ? 'nothing new is started'
        : `nothing new is started; ${inProgress} in progress end by themselves`;
    const wayOn = spec.paused ? 'take paused: true out of its manifest, and ' : '';
    return `${already ? 'was paused already' : 'paused'}, ${tail}. To go on: ${wayOn}${undo}`;
  }
  const said = already ? 'was not paused by annotation' : 'resumed';
  return spec.paused ? `${said}, but its spec says paused: true. Take that out of its manifest to go on.` : `${said}.`;
}

/** The flags that lead another command to the same place, with a blank in front of each. */
function targetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
