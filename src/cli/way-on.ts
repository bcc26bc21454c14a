/** What a person can do so that a resource goes on which is paused, or waits for an approval: commands that can be pasted. */
import { join } from 'node:path';
import { annotations } from '../api/annotations.ts';
import { settingsName } from '../api/operator-settings.ts';
import { unreachable } from '../base/assert.ts';
import type { TargetOptions } from './options.ts';
import { commandLine } from './person-action.ts';
import { holds } from './render/condition-lines.ts';
import type { AnyResource } from './resource-access.ts';
import { shellWord, targetFlags } from './target-flags.ts';

/** What leads another command to a resource. */
export interface WayOptions extends TargetOptions {
  /** None does: all that can be said to it stands in its manifest. */
  readonly byManifest?: true;
}

/** As a part of a sentence; undefined where it is not paused, or has nothing left to go on with. `options` lead to the resource, as they led whoever asks. */
export function wayOn(resource: AnyResource, options: WayOptions): string | undefined {
  if (isComplete(resource)) return undefined;
  const steps = [
    ...(resource.spec.paused ? ['take paused: true out of its manifest'] : []),
    ...(isPausedByPerson(resource) ? [withoutAnnotation(resource, options)] : []),
  ];
  return steps.length === 0 ? undefined : steps.join(', and ');
}

function withoutAnnotation(resource: AnyResource, { byManifest, ...options }: WayOptions): string {
  return byManifest
    ? `take the annotation ${annotations.paused} out of its manifest`
    : commandLine('resume', resource, options);
}

/** The same where everything is paused. `places` are what pauses it, with their directories as the command line names them. */
export function wayOnForAll(places: readonly PausingPlace[]): string | undefined {
  const steps = places.map(stepFor);
  return steps.length === 0 ? undefined : steps.join(', and ');
}

function stepFor({ directory, manifest, source }: PausingPlace): string {
  switch (source) {
    case 'request':
      return `logfleet resume --all${targetFlags({ dir: directory })}`;
    case 'manifest':
      return `take paused out of the ConfigMap ${settingsName} in ${join(directory, manifest)}`;
    case 'unreadable':
      return `correct or delete ${join(directory, manifest)}`;
    default:
      return unreachable(source);
  }
}

/** All that a person has to do so that a policy goes on; undefined where it is not paused. */
export function allWaysOn(
  resource: AnyResource,
  options: WayOptions,
  goOnForAll: string | undefined,
): string | undefined {
  const steps = [wayOn(resource, options), goOnForAll].filter((step) => step !== undefined);
  return steps.length === 0 ? undefined : steps.join(', and ');
}

/** One place that pauses everything. */
export interface PausingPlace {
  readonly directory: string;
  /** The file, as seen from the directory. */
  readonly manifest: string;
  /** What pauses: a ConfigMap among the manifests, a request by a command, or a file that cannot be read. */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/**
 * What is said of an export whose process is over, or has nobody who could annotate anything: another start looks at everything again, too.
 */
export function byAnotherStart(message: string): string {
  return message
    .replaceAll(`have it searched anew with the annotation ${annotations.requestedAt}`, 'run it again')
    .replaceAll(`set the annotation ${annotations.requestedAt}`, 'run it again');
}

/** The command that approves the stage that waits for it, and no other; undefined where none does. */
export function wayToApprove(resource: AnyResource, options: TargetOptions): string | undefined {
  if (resource.kind !== 'CollectorVersionPolicy') return undefined;
  const stage = resource.status?.stages?.find(({ state }) => state === 'AwaitingApproval');
  return stage && `${commandLine('approve', resource, options)} --stage ${shellWord(stage.name)}`;
}

/** Whether it is an export whose rows are all in files. */
export function isComplete({ kind, status }: AnyResource): boolean {
  return kind === 'SearchExport' && holds(status, 'Complete');
}

/** With the commands that its conditions name as a person can paste them. */
export function withWholeCommands<R extends AnyResource>(resource: R, options: TargetOptions): R {
  const { status } = resource;
  if (!status?.conditions) return resource;
  const retry = `\`${commandLine('retry', resource, options)}\``;
  const inWhole = ({ message }: { readonly message: string }) => message.replaceAll('`logfleet retry`', () => retry);
  const conditions = status.conditions.map((condition) => ({ ...condition, message: inWhole(condition) }));
  return { ...resource, status: { ...status, conditions } };
}

/** By the annotation that `logfleet pause` sets. */
export function isPausedByPerson({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}
