/**
 * Finds the actions that a user can take for a resource: resume it, approve a stage, or retry failures. Each action is
 * a shell command, or a change to a manifest.
 */

import { join } from 'node:path';
import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import { type AnyResource, referenceOf } from '../../api/kinds.ts';
import { settingsName } from '../../api/operator-settings.ts';
import { shellWord } from '../../base/shell-word.ts';
import type { FoundSettings } from '../../host/directory/directory-settings.ts';
import { invocation } from '../command/invocation.ts';
import type { TargetOptions } from '../command/options.ts';
import { conditionOf, holds } from './condition-lines.ts';

export interface StepOptions extends TargetOptions {
  /** True if logfleet's commands cannot change the resource. In that case, a user must edit its manifest. */
  readonly byManifest?: true;
}

/**
 * Actions that a user can take now for a resource. The field of an action is undefined if the action is not possible.
 */
export interface NextSteps {
  /** Instruction that ends the resource's pause. */
  readonly resume?: string | undefined;
  /** Command that approves the stage that is waiting for approval. */
  readonly approve?: string | undefined;
  /** Command that continues a stopped rollout. */
  readonly retry?: string | undefined;
}

/**
 * Finds the actions that a user can take for a resource. `resumeAll` is the instruction that resumes the whole operator
 * if it is paused.
 */
export function nextSteps(resource: AnyResource, options: StepOptions, resumeAll?: string): NextSteps {
  const pauses = [resumeStep(resource, options), resumeAll].filter((step) => step !== undefined);
  return {
    resume: pauses.length === 0 ? undefined : pauses.join(', and '),
    approve: approveStep(resource, options),
    retry: retryStep(resource, options),
  };
}

/**
 * Returns a sentence that says how to end a pause or give an approval. Returns an empty string if the resource is
 * waiting for neither.
 */
function renderNextStep({ resume, approve }: NextSteps): string {
  if (resume !== undefined) return ` To resume: ${resume}`;
  return approve === undefined ? '' : ` To approve: ${approve}`;
}

/**
 * Returns the message about a resource that is waiting for a user, and the command that the user can run. If the
 * rollout is stopped, the reason for the stop replaces `message`.
 */
export function renderMessage({ kind, status }: AnyResource, message: string, steps: NextSteps): string {
  const stop = kind === 'CollectorVersionPolicy' ? status?.rollout?.stopped : undefined;
  if (!stop || steps.retry === undefined) return `${message}${renderNextStep(steps)}`;
  const cause = stop.message.replace(/\.?$/, '.');
  return `${cause} Set another target, or run: ${steps.retry}`;
}

/**
 * Returns the instruction that ends all pauses of a resource. Returns undefined if the resource is complete or not
 * paused.
 */
export function resumeStep(resource: AnyResource, options: StepOptions): string | undefined {
  if (isComplete(resource)) return undefined;
  const steps = [
    ...(resource.spec.paused ? ["remove 'paused: true' from the manifest"] : []),
    ...(isPausedByAnnotation(resource) ? [removalOfAnnotation(resource, options)] : []),
  ];
  return steps.length === 0 ? undefined : steps.join(', and ');
}

function removalOfAnnotation(resource: AnyResource, { byManifest, ...options }: StepOptions): string {
  return byManifest
    ? `remove the annotation ${annotations.paused} from the manifest`
    : commandLine('resume', resource, options);
}

function approveStep(resource: AnyResource, options: TargetOptions): string | undefined {
  if (resource.kind !== 'CollectorVersionPolicy' || !resource.status?.rollout) return undefined;
  const stage = resource.status.stages?.find(({ state }) => state === 'AwaitingApproval');
  return stage && `${commandLine('approve', resource, options)} --stage ${shellWord(stage.name)}`;
}

function retryStep(resource: AnyResource, options: TargetOptions): string | undefined {
  const reason = conditionOf(resource.status, 'Ready')?.reason;
  const isStopped = reason === reasons.rolloutStopped || reason === reasons.aborted;
  return isStopped ? commandLine('retry', resource, options) : undefined;
}

/**
 * A file that pauses the whole operator. There can be several such files at the same time. `directory` is the path as
 * given on the command line.
 */
type PauseOfAll = Omit<FoundSettings, 'pausedBy'>;

/**
 * Returns the instruction that ends all pauses of the whole operator. Returns undefined if the operator is not paused.
 */
export function resumeAllStep(causes: readonly PauseOfAll[]): string | undefined {
  return causes.length === 0 ? undefined : causes.map(stepFor).join(', and ');
}

function stepFor({ directory, manifest, source }: PauseOfAll): string {
  if (source === 'request') return `${invocation('resume --all')}${renderTargetFlags({ dir: directory })}`;
  const file = join(directory, manifest);
  return source === 'manifest'
    ? `remove the key paused from the ConfigMap ${settingsName} in ${file}`
    : `correct or delete ${file}`;
}

export function isComplete({ kind, status }: AnyResource): boolean {
  return kind === 'SearchExport' && holds(status, 'Complete');
}

/** Returns true if the resource has the annotation that `logfleet pause` writes. */
export function isPausedByAnnotation({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}

/** Returns the flags that select the directory or cluster of a resource. Each flag is preceded by a space. */
export function renderTargetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

/** Returns the command line of a logfleet command for this resource, such as `logfleet retry cvp/production`. */
export function commandLine(command: string, resource: AnyResource, options: TargetOptions): string {
  return `${invocation(command)} ${referenceOf(resource.kind, resource.metadata)}${renderTargetFlags(options)}`;
}
