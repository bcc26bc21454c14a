/** How a run of directories ended, policy by policy: one line each on stdout, and on stderr where to read more. */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { wrap } from './render/palette.ts';
import { targetFlags } from './target-flags.ts';
import { allWaysOn, wayToApprove } from './way-on.ts';

/** What leads another command to one of these policies. `dirOf`: the directory of a policy, as the command line names it. */
export function flagsAmong(
  policies: readonly CollectorVersionPolicy[],
  dirOf: (policy: CollectorVersionPolicy) => string | undefined,
): (policy: CollectorVersionPolicy) => TargetOptions {
  return (policy) => {
    const { namespace, name } = policy.metadata;
    const dir = dirOf(policy);
    const isOnlyOne = policies.filter(({ metadata }) => metadata.name === name).length === 1;
    return { ...(dir === undefined ? {} : { dir }), ...(isOnlyOne ? {} : { namespace }) };
  };
}

/**
 * `dirOf`: the directory of a policy, as the command line names it.
 * @param goOnForAll how a person lets all policies go on; undefined where nothing pauses them all
 */
export function showOutcome(
  policies: readonly CollectorVersionPolicy[],
  dirOf: (policy: CollectorVersionPolicy) => string | undefined,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  goOnForAll: string | undefined,
): void {
  const flagsOf = flagsAmong(policies, dirOf);
  for (const policy of policies) {
    const line = renderOutcome(policy, flagsOf(policy), goOnForAll);
    // A terminal would break it within a word.
    stdout.write(`${stdout.isTTY ? wrap(line, stdout.columns()).join('\n') : line}\n`);
  }
  const unclear = policies.find(hasMoreToTell);
  if (unclear) {
    stderr.write(`See logfleet get cvp ${unclear.metadata.name}${targetFlags(flagsOf(unclear))} for which, and why.\n`);
  }
}

export function isStalled(policy: CollectorVersionPolicy): boolean {
  return conditionOf(policy, 'Stalled') !== undefined;
}

/** Whether its message only points to figures of the status. */
function hasMoreToTell(policy: CollectorVersionPolicy): boolean {
  const reason = conditionOf(policy, 'Stalled')?.reason;
  return reason === reasons.collectorsFailed || reason === reasons.collectorsRefused;
}

function conditionOf({ status }: CollectorVersionPolicy, wanted: string) {
  return status?.conditions?.find(({ type }) => type === wanted);
}

function renderOutcome(policy: CollectorVersionPolicy, flags: TargetOptions, goOnForAll: string | undefined): string {
  const { namespace, name } = policy.metadata;
  const ready = conditionOf(policy, 'Ready');
  const goOn = allWaysOn(policy, flags, goOnForAll);
  const said = `${namespace}/${name}: ${ready?.reason ?? 'Unknown'}: ${ready?.message ?? 'not looked at'}`;
  if (goOn !== undefined) return `${said} To go on: ${goOn}`;
  const approve = wayToApprove(policy, flags);
  return approve === undefined ? said : `${said} To approve: ${approve}`;
}
