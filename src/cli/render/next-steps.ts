/**
 * Finds out what a person can do to let a resource continue: resume it, approve a stage, or retry failures. Each step is a command to be
 * pasted into a shell, or a change of a manifest.
 */

import { join } from 'node:path';
import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import { type AnyResource, referenceOf } from '../../api/kinds.ts';
import { settingsName } from '../../api/operator-settings.ts';
import { shellWord } from '../../base/shell-word.ts';
import type { TargetOptions } from '../options.ts';
import { conditionOf, holds } from './condition-lines.ts';

export interface StepOptions extends TargetOptions {
  /** True if commands such as `logfleet retry` cannot reach the resource. A person must then edit its manifest. */
  readonly byManifest?: true;
}

/** Steps that a person can take now for one resource. A step that does not apply is undefined. */
export interface NextSteps {
  /** Instruction that ends a pause of the resource. */
  readonly resume?: string | undefined;
  /** Command that approves the stage of the rollout that waits for an approval. */
  readonly approve?: string | undefined;
  /** Command that continues a stopped rollout. */
  readonly retry?: string | undefined;
}

/** Finds the steps for a resource. `resumeAll` is the instruction that resumes the whole operator, if the operator is paused. */
export function nextSteps(resource: AnyResource, options: StepOptions, resumeAll?: string): NextSteps {
  const pauses = [resumeStep(resource, options), resumeAll].filter((step) => step !== undefined);
  return {
    resume: pauses.length === 0 ? undefined : pauses.join(', and '),
    approve: approveStep(resource, options),
    retry: retryStep(resource, options),
  };
}

/**
 * Returns a sentence that says how to end a pause, or how to give an approval. Empty if the resource is not paused and waits for no
 * approval.
 */
function renderNextStep({ resume, approve }: NextSteps): string {
  if (resume !== undefined) return ` To resume: ${resume}`;
  return approve === undefined ? '' : ` To approve: ${approve}`;
}

/**
 * Returns a message about a resource that waits for a person, followed by the command or instruction that this person needs. For
 * a stopped rollout, the cause of the stop replaces `message`, because `message` already contains a command without the flags
 * that select the resource.
 */
export function renderMessage({ kind, status }: AnyResource, message: string, steps: NextSteps): string {
  const stop = kind === 'CollectorVersionPolicy' ? status?.rollout?.stopped : undefined;
  if (!stop || steps.retry === undefined) return `${message}${renderNextStep(steps)}`;
  const cause = stop.message.replace(/\.?$/, '.');
  return `${cause} Set another target, or run: ${steps.retry}`;
}

/**
 * Returns the instruction that ends all pauses of a resource, such as a pause by its annotation. Undefined if the resource is
 * complete or not paused.
 */
export function resumeStep(resource: AnyResource, options: StepOptions): string | undefined {
  if (isComplete(resource)) return undefined;
  const steps = [
    ...(resource.spec.paused ? ['remove paused: true from the manifest'] : []),
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
  // Without a rollout, for example while all collectors run the target version, `logfleet approve` has nothing to approve.
  if (resource.kind !== 'CollectorVersionPolicy' || !resource.status?.rollout) return undefined;
  const stage = resource.status.stages?.find(({ state }) => state === 'AwaitingApproval');
  return stage && `${commandLine('approve', resource, options)} --stage ${shellWord(stage.name)}`;
}

function retryStep(resource: AnyResource, options: TargetOptions): string | undefined {
  const reason = conditionOf(resource.status, 'Ready')?.reason;
  const isStopped = reason === reasons.rolloutStopped || reason === reasons.aborted;
  return isStopped ? commandLine('retry', resource, options) : undefined;
}

/** One cause of a pause of the whole operator. */
interface PauseOfAll {
  /** Directory of the manifests, as written on the command line. */
  readonly directory: string;
  /** File that pauses the operator, relative to the directory of the manifests. */
  readonly manifest: string;
  /**
   * Kind of the file that pauses the operator: a ConfigMap among the manifests, a request of `logfleet pause --all`, or an unreadable file.
   */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** Returns the instruction that ends all causes of a pause of the whole operator. Undefined if there is no cause. */
export function resumeAllStep(causes: readonly PauseOfAll[]): string | undefined {
  return causes.length === 0 ? undefined : causes.map(stepFor).join(', and ');
}

function stepFor({ directory, manifest, source }: PauseOfAll): string {
  if (source === 'request') return `logfleet resume --all${targetFlags({ dir: directory })}`;
  const file = join(directory, manifest);
  return source === 'manifest'
    ? `remove the key paused from the ConfigMap ${settingsName} in ${file}`
    : `correct or delete ${file}`;
}

export function isComplete({ kind, status }: AnyResource): boolean {
  return kind === 'SearchExport' && holds(status, 'Complete');
}

/** True if the resource has the annotation that `logfleet pause` sets. */
export function isPausedByAnnotation({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}

/** Returns the flags that select a resource's directory or cluster, each with a space before it. */
export function targetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

/** Returns another logfleet command about the same resource, ready to be pasted into a shell. */
export function commandLine(command: string, resource: AnyResource, options: TargetOptions): string {
  return `logfleet ${command} ${referenceOf(resource.kind, resource.metadata)}${targetFlags(options)}`;
}
