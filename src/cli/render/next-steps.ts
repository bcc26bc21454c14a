/**
 * Finds what a person can do so that a resource continues: resume it, approve a stage, or retry failures. Each step is
 * a command that can be pasted, or a change of a manifest.
 */

import { join } from 'node:path';
import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { AnyResource } from '../../api/kinds.ts';
import { type KindName, kinds } from '../../api/kinds.ts';
import { settingsName } from '../../api/operator-settings.ts';
import { unreachable } from '../../base/assert.ts';
import type { TargetOptions } from '../options.ts';
import { conditionOf, holds } from './condition-lines.ts';

/** Flags that another logfleet command needs to find a resource. */
export interface StepOptions extends TargetOptions {
  /** True if no command can find the resource, so that a person must change its manifest. */
  readonly byManifest?: true;
}

/** What a person can do now for one resource. A step that does not apply is undefined. */
export interface NextSteps {
  /** Instruction that ends a pause of the resource. */
  readonly resume?: string | undefined;
  /** Command that approves the stage that waits for approval. */
  readonly approve?: string | undefined;
  /** Command that continues a stopped rollout, or retries failed collectors. */
  readonly retry?: string | undefined;
}

/** @param resumeAll instruction that resumes the whole operator, if the operator is paused */
export function nextSteps(resource: AnyResource, options: StepOptions, resumeAll?: string): NextSteps {
  const pauses = [resumeStep(resource, options), resumeAll].filter((step) => step !== undefined);
  return {
    resume: pauses.length === 0 ? undefined : pauses.join(', and '),
    approve: approveStep(resource, options),
    retry: retryStep(resource, options),
  };
}

/** The first step that applies to the resource, as a sentence that follows a message. Empty if none applies. */
function renderNextStep({ resume, approve, retry }: NextSteps): string {
  if (resume !== undefined) return ` To resume: ${resume}`;
  if (approve !== undefined) return ` To approve: ${approve}`;
  return retry === undefined ? '' : ` To retry: ${retry}`;
}

/**
 * Message about a resource that a person must act on, with the first step that applies. The message of a stopped rollout
 * is that of the stop itself, because the condition names the remedy without the flags of the command.
 */
export function renderMessage({ kind, status }: AnyResource, message: string, steps: NextSteps): string {
  const stop = kind === 'CollectorVersionPolicy' ? status?.rollout?.stopped : undefined;
  const reason = conditionOf(status, 'Ready')?.reason;
  const isStopped = reason === reasons.rolloutStopped || reason === reasons.aborted;
  if (!stop || !isStopped || steps.retry === undefined) return `${message}${renderNextStep(steps)}`;
  return `${stop.message.replace(/\.?$/, '.')} Set another target, or run: ${steps.retry}`;
}

/** Instruction that ends all pauses of this resource. Undefined if it is not paused, or is complete. */
export function resumeStep(resource: AnyResource, options: StepOptions): string | undefined {
  if (isComplete(resource)) return undefined;
  const steps = [
    ...(resource.spec.paused ? ['remove paused: true from its manifest'] : []),
    ...(isPausedByAnnotation(resource) ? [removalOfAnnotation(resource, options)] : []),
  ];
  return steps.length === 0 ? undefined : steps.join(', and ');
}

function removalOfAnnotation(resource: AnyResource, { byManifest, ...options }: StepOptions): string {
  return byManifest
    ? `remove the annotation ${annotations.paused} from its manifest`
    : commandLine('resume', resource, options);
}

function approveStep(resource: AnyResource, options: TargetOptions): string | undefined {
  if (resource.kind !== 'CollectorVersionPolicy') return undefined;
  const stage = resource.status?.stages?.find(({ state }) => state === 'AwaitingApproval');
  return stage && `${commandLine('approve', resource, options)} --stage ${shellWord(stage.name)}`;
}

/** Reasons of the `Ready` condition for which `logfleet retry` helps. */
const retryReasons: readonly (string | undefined)[] = [
  reasons.rolloutStopped,
  reasons.stageInconclusive,
  reasons.rolledBack,
  reasons.aborted,
  reasons.collectorsFailed,
  reasons.collectorsRefused,
];

function retryStep(resource: AnyResource, options: TargetOptions): string | undefined {
  if (resource.kind !== 'CollectorVersionPolicy') return undefined;
  const reason = conditionOf(resource.status, 'Ready')?.reason;
  return retryReasons.includes(reason) ? commandLine('retry', resource, options) : undefined;
}

/** One cause of a pause of the whole operator. */
interface PauseOfAll {
  /** Directory of the manifests, as the command line names it. */
  readonly directory: string;
  /** File that pauses the operator, relative to the directory. */
  readonly manifest: string;
  /** Kind of the file: a ConfigMap among the manifests, a request by a command, or a file that cannot be read. */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** Instruction that ends all causes of a pause of the whole operator. Undefined if there is none. */
export function resumeAllStep(causes: readonly PauseOfAll[]): string | undefined {
  return causes.length === 0 ? undefined : causes.map(stepFor).join(', and ');
}

function stepFor({ directory, manifest, source }: PauseOfAll): string {
  switch (source) {
    case 'request':
      return `logfleet resume --all${targetFlags({ dir: directory })}`;
    case 'manifest':
      return `remove paused from the ConfigMap ${settingsName} in ${join(directory, manifest)}`;
    case 'unreadable':
      return `correct or delete ${join(directory, manifest)}`;
    default:
      return unreachable(source);
  }
}

/** True for an export that has written all its rows to files. */
export function isComplete({ kind, status }: AnyResource): boolean {
  return kind === 'SearchExport' && holds(status, 'Complete');
}

/** True if the resource has the annotation that `logfleet pause` sets. */
export function isPausedByAnnotation({ metadata }: AnyResource): boolean {
  return metadata.annotations[annotations.paused] === 'true';
}

/** Flags that select a resource's directory or cluster, each with a space before it. Empty if no flag is needed. */
export function targetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

/** Quotes a word for a shell, if it needs quotes. */
export function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Reference to a resource in a command, such as `cvp/production`. */
export function referenceOf(kind: KindName, { name }: { readonly name: string }): string {
  return `${kinds[kind].shortNames[0]}/${name}`;
}

/** Another logfleet command about the same resource, ready to be pasted into a shell. */
export function commandLine(command: string, resource: AnyResource, options: TargetOptions): string {
  return `logfleet ${command} ${referenceOf(resource.kind, resource.metadata)}${targetFlags(options)}`;
}
