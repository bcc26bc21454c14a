/** Prints the final report of a run on directories: one line for each resource. */

import { reasons } from '../../api/conditions.ts';
import { type AnyResource, kinds } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import type { CommandContext } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import type { TargetOptions } from '../command/options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { nextSteps, renderMessage, renderTargetFlags, type StepOptions } from '../render/next-steps.ts';
import { wrap } from '../render/terminal-text.ts';
import { printable } from '../render/text.ts';

/** Returns a function that maps each resource to the flags that other logfleet commands need to find the resource. */
export function flagsAmong(
  resources: readonly AnyResource[],
  dirOf: (resource: AnyResource) => string | undefined,
): (resource: AnyResource) => TargetOptions {
  return (resource) => {
    const { namespace, name } = resource.metadata;
    const dir = dirOf(resource);
    const ofName = resources.filter(({ kind, metadata }) => kind === resource.kind && metadata.name === name);
    const isOnlyOne = ofName.length === 1;
    return { ...(dir === undefined ? {} : { dir }), ...(isOnlyOne ? {} : { namespace }) };
  };
}

/** Prints the final report of a run. `resumeAll` is the instruction that resumes the whole operator if it is paused. */
export function showReport(
  resources: readonly AnyResource[],
  dirOf: (resource: AnyResource) => string | undefined,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  resumeAll: string | undefined,
): void {
  const flagsOf = flagsAmong(resources, dirOf);
  for (const resource of resources) {
    const line = printable(renderResult(resource, flagsOf(resource), resumeAll));
    // Wraps the text between words, because the terminal would break lines inside words.
    const text = stdout.isTTY ? wrap(line, stdout.columns()).join('\n') : line;
    stdout.write(`${text}\n`);
  }
  const unclear = resources.find(hasMoreToTell);
  if (unclear) {
    const kind = kinds[unclear.kind].shortName;
    const flags = renderTargetFlags(flagsOf(unclear));
    stderr.write(
      `To see why collectors were not upgraded: ${invocation('get')} ${kind} ${unclear.metadata.name}${flags}\n`,
    );
  }
}

/** Reports whether an export has written all its rows and checked that they are complete. */
export function isExported({ status }: AnyResource): boolean {
  return conditionOf(status, 'Ready')?.reason === reasons.exported;
}

/** Returns true if the resource is stalled because its credentials are missing or invalid. */
export function lacksSecret({ status }: AnyResource): boolean {
  const reason = conditionOf(status, 'Stalled')?.reason;
  return reason === reasons.secretNotFound || reason === reasons.secretIncomplete || reason === reasons.secretInvalid;
}

/** Reports whether the resource has failed, is incomplete, or is waiting for a user. */
export function isFailedResource({ status }: AnyResource): boolean {
  const isStalled = conditionOf(status, 'Stalled') !== undefined;
  return isStalled || conditionOf(status, 'Ready')?.reason === reasons.exportedIncomplete;
}

/**
 * Returns true if upgrades of some collectors failed or were refused. In that case, the resource's message may not name
 * all of these collectors.
 */
function hasMoreToTell({ status }: AnyResource): boolean {
  const reason = conditionOf(status, 'Stalled')?.reason;
  return reason === reasons.collectorsFailed || reason === reasons.collectorsRefused;
}

/**
 * Renders the result of a run for one resource. `flags` are the flags that another logfleet command needs to find the
 * resource.
 */
export function renderResult(resource: AnyResource, flags: StepOptions, resumeAll: string | undefined): string {
  const ready = conditionOf(resource.status, 'Ready');
  const message = ready?.message ?? 'no operator has read this resource yet';
  const text = renderMessage(resource, message, nextSteps(resource, flags, resumeAll));
  return `${keyText(resource.metadata)}: ${ready?.reason ?? 'Unknown'}: ${text}`;
}

/** Returns the message about an interrupted run. `flags` are the flags for the next start of the command. */
export function renderInterruption(resources: readonly AnyResource[], flags = ''): string {
  const policies = resources.filter((resource) => resource.kind === 'CollectorVersionPolicy');
  const running = policies.reduce((sum, { status }) => sum + (status?.collectors?.inProgress ?? 0), 0);
  if (running > 0) {
    const upgrades = counted(running, 'upgrade');
    return `interrupted; ${upgrades} ${wordFor(running, 'continues', 'continue')} at the log service, and the next ${invocation('run')} reads the result of each upgrade`;
  }
  const isExport = resources.length > 0 && policies.length === 0;
  const state = isExport ? 'complete intervals are kept at the destination' : 'no upgrade is in flight';
  const nextStart = flags === '' ? 'the next start' : `the next start with ${flags}`;
  return `interrupted; ${state}, and ${nextStart} continues from here`;
}
