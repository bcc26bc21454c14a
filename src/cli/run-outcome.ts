/** How a run of directories ended, resource by resource: one line each on stdout, and on stderr where to read more. */
import { reasons } from '../api/conditions.ts';
import { kinds } from '../api/kinds.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { conditionOf } from './render/condition-lines.ts';
import { wrap } from './render/palette.ts';
import type { AnyResource } from './resource-access.ts';
import { targetFlags } from './target-flags.ts';
import { allWaysOn, byAnotherStart, type WayOptions, wayToApprove, withWholeCommands } from './way-on.ts';

/** What leads another command to one of these resources. `dirOf`: the directory of one, as the command line names it. */
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

/**
 * `dirOf`: the directory of a resource, as the command line names it.
 * @param goOnForAll how a person lets everything go on; undefined where nothing pauses it all
 */
export function showOutcome(
  resources: readonly AnyResource[],
  dirOf: (resource: AnyResource) => string | undefined,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  goOnForAll: string | undefined,
): void {
  const flagsOf = flagsAmong(resources, dirOf);
  for (const resource of resources) {
    const line = renderOutcome(resource, flagsOf(resource), goOnForAll);
    // A terminal would break it within a word.
    stdout.write(`${stdout.isTTY ? wrap(line, stdout.columns()).join('\n') : line}\n`);
  }
  const unclear = resources.find(hasMoreToTell);
  if (unclear) {
    const kind = kinds[unclear.kind].shortNames[0];
    stderr.write(
      `See logfleet get ${kind} ${unclear.metadata.name}${targetFlags(flagsOf(unclear))} for which, and why.\n`,
    );
  }
}

export function isStalled({ status }: AnyResource): boolean {
  return conditionOf(status, 'Stalled') !== undefined;
}

/** Whether an export has all its rows in files, proven. */
export function isExported({ status }: AnyResource): boolean {
  return conditionOf(status, 'Ready')?.reason === reasons.exported;
}

/** Whether nothing has begun, since a Secret, or the variables in place of it, lack something. */
export function lacksSecret({ status }: AnyResource): boolean {
  const reason = conditionOf(status, 'Stalled')?.reason;
  return reason === reasons.secretNotFound || reason === reasons.secretIncomplete || reason === reasons.secretInvalid;
}

/** Whether it has ended failed or incomplete, or a person has to do something. */
export function hasFailed(resource: AnyResource): boolean {
  return isStalled(resource) || conditionOf(resource.status, 'Ready')?.reason === reasons.exportedIncomplete;
}

/** Whether its message only points to figures of the status. */
function hasMoreToTell({ status }: AnyResource): boolean {
  const reason = conditionOf(status, 'Stalled')?.reason;
  return reason === reasons.collectorsFailed || reason === reasons.collectorsRefused;
}

/** In a line; `flags` lead another command to it. */
export function renderOutcome(resource: AnyResource, flags: WayOptions, goOnForAll: string | undefined): string {
  const { namespace, name } = resource.metadata;
  const ready = conditionOf(withWholeCommands(resource, flags).status, 'Ready');
  const goOn = allWaysOn(resource, flags, goOnForAll);
  const said = `${namespace}/${name}: ${ready?.reason ?? 'Unknown'}: ${byAnotherStart(ready?.message ?? 'not looked at')}`;
  if (goOn !== undefined) return `${said} To go on: ${goOn}`;
  const approve = wayToApprove(resource, flags);
  return approve === undefined ? said : `${said} To approve: ${approve}`;
}
