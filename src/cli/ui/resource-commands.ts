/** Commands that the page of `logfleet ui` offers to copy. The page itself changes nothing. */
import type { DestinationSpec } from '../../api/generated/search-export.ts';
import { type AnyResource, kinds } from '../../api/kinds.ts';
import { shellWord } from '../../base/shell-word.ts';
import { invocation } from '../command/invocation.ts';
import type { TargetOptions } from '../command/options.ts';
import { renderStoreFlags } from '../command/store-address.ts';
import { canAbort, canRetry } from '../person/retry-abort.ts';
import { toneOf } from '../render/condition-lines.ts';
import { commandLine, isComplete, isPausedByAnnotation, nextSteps, renderTargetFlags } from '../render/next-steps.ts';

export interface ResourceCommand {
  /** Purpose of the command, such as `Approve the stage`. */
  readonly purpose: string;
  /** Command line, ready to be pasted into a shell. */
  readonly command: string;
  /** True if the resource is waiting for this command. */
  readonly isAwaited: boolean;
}

/** Returns the commands that a user can run now. `options` select the cluster or the directory. */
export function resourceCommands(resource: AnyResource, options: TargetOptions): readonly ResourceCommand[] {
  const flags = { ...options, namespace: resource.metadata.namespace };
  const line = (name: string) => commandLine(name, resource, flags);
  const { approve } = nextSteps(resource, flags);
  const isStalled = toneOf(resource) === 'stalled';
  const isPaused = isPausedByAnnotation(resource);
  const isOver = isComplete(resource);
  return [
    ...(approve === undefined ? [] : [{ purpose: 'Approve the stage', command: approve, isAwaited: true }]),
    ...(isPaused && !isOver ? [{ purpose: 'Resume', command: line('resume'), isAwaited: true }] : []),
    ...(canRetry(resource) ? [{ purpose: 'Retry', command: line('retry'), isAwaited: isStalled }] : []),
    ...[
      ...(isPaused || isOver ? [] : [{ purpose: 'Pause', command: line('pause') }]),
      ...(canAbort(resource) ? [{ purpose: 'Abort the rollout', command: line('abort') }] : []),
      ...exportCommands(resource, flags),
      { purpose: 'Follow in a terminal', command: getCommand(resource, flags) },
    ].map((command) => ({ ...command, isAwaited: false })),
  ];
}

function exportCommands(resource: AnyResource, { dir, ...flags }: TargetOptions) {
  if (resource.kind !== 'SearchExport') return [];
  const { spec, status } = resource;
  const { manifest, kubernetesJob } = status ?? {};
  // The volumes of an operator or of a Job in a cluster are not mounted on the user's machine.
  const isReadable = dir !== undefined || !manifest?.url.startsWith('file:');
  const verify = manifest && isReadable ? verifyCommand(manifest.url, spec.destination) : undefined;
  const logs = kubernetesJob && `kubectl logs ${shellWord(`job/${kubernetesJob.name}`)}${renderTargetFlags(flags)}`;
  return [
    ...(verify === undefined ? [] : [{ purpose: 'Verify the files', command: verify }]),
    ...(logs === undefined ? [] : [{ purpose: 'Read the logs', command: logs }]),
  ];
}

function verifyCommand(url: string, { s3, gcs, azureBlob }: DestinationSpec): string {
  const storeFlags = renderStoreFlags({ ...(s3 ?? gcs ?? azureBlob), pathStyle: s3?.forcePathStyle === true });
  return `${invocation('verify')} ${shellWord(url)}${storeFlags}`;
}

function getCommand({ kind, metadata }: AnyResource, flags: TargetOptions): string {
  return `${invocation('get')} ${kinds[kind].shortName} ${metadata.name}${renderTargetFlags(flags)} --watch`;
}
