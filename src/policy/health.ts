/**
 * The answer to "how is it, and why is nothing happening?": one verdict for the conditions, found by a chain of checks, of
 * which the first that has something to say decides. The order of the chain is the whole of the precedence.
 */

import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { Counts } from './roster.ts';

export interface Health {
  readonly ready: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** One sentence that answers the question; another on what to do, where there is something. */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
}

/** The collectors of a policy, counted. */
export interface Fleet {
  readonly counts: Counts;
  readonly matched: number;
  /** Of the skipped ones, those that a person has to look into. */
  readonly leftAlone: number;
}

export interface HealthInput {
  readonly spec: CollectorVersionPolicySpec;
  /** Why the policy is paused, or undefined. */
  readonly pausedBy: string | undefined;
  /** What keeps the service or its credentials from being used. */
  readonly problem: LogfleetError | undefined;
  /** Why the target cannot be had, or undefined. */
  readonly notOffered: string | undefined;
  readonly targetVersion: string | undefined;
  /** Undefined until the fleet was read once. */
  readonly fleet: Fleet | undefined;
  readonly ledgerFull: boolean;
  /** What the rollout waits for although collectors are left, or undefined. */
  readonly waitingFor: string | undefined;
}

type Check = (input: HealthInput) => Health | undefined;

const checks: readonly Check[] = [
  paused,
  stalledByProblem,
  notOffered,
  waitingForService,
  nothingKnown,
  nothingMatched,
  ledgerFull,
  observing,
  rollingOut,
  downgradeNeeded,
  collectorsFailed,
  collectorsRefused,
];

export function healthOf(input: HealthInput): Health {
  for (const check of checks) {
    const health = check(input);
    if (health) return health;
  }
  return allUpdated(input);
}

function paused({ pausedBy, fleet }: HealthInput): Health | undefined {
  if (pausedBy === undefined) return undefined;
  const running = fleet?.counts.inProgress ?? 0;
  const rest = running > 0 ? ` ${count(running, 'upgrade')} that began before will end.` : '';
  return {
    ...quiet,
    ready: 'Unknown',
    reason: reasons.paused,
    message: `Paused by ${pausedBy}: nothing new is started.${rest}`,
  };
}

function stalledByProblem({ problem }: HealthInput): Health | undefined {
  if (problem?.handling.kind !== 'stall') return undefined;
  return { ...stalled, reason: problem.reason, message: problem.message };
}

function notOffered({ notOffered: message }: HealthInput): Health | undefined {
  return message === undefined ? undefined : { ...stalled, reason: reasons.versionNotOffered, message };
}

function waitingForService({ problem }: HealthInput): Health | undefined {
  return (
    problem && {
      ...atWork,
      reason: problem.reason,
      message: `${problem.message.replace(/\.$/, '')}. It is tried again.`,
    }
  );
}

function nothingKnown({ fleet }: HealthInput): Health | undefined {
  return fleet
    ? undefined
    : { ...atWork, reason: reasons.progressing, message: 'Reading the builds and the collectors of the service.' };
}

function nothingMatched({ fleet }: HealthInput): Health | undefined {
  if (!fleet || fleet.matched > 0) return undefined;
  const message =
    'The selector matches no collector of the service. Change spec.selector or spec.exclude, or install a collector that they match.';
  return { ...stalled, reason: reasons.noCollectorsMatched, message };
}

function ledgerFull(input: HealthInput): Health | undefined {
  if (!input.ledgerFull) return undefined;
  const message =
    'The ledger of upgrade attempts is full: nothing more is started. Split the policy by its selector into several.';
  return { ...stalled, reason: reasons.ledgerFull, message };
}

function observing({ spec, fleet, targetVersion }: HealthInput): Health | undefined {
  const left = fleet ? outstanding(fleet.counts) - fleet.counts.inProgress : 0;
  if (spec.mode !== 'Observe' || left === 0) return undefined;
  const message = `Would upgrade ${count(left, 'collector')} to ${targetVersion}; spec.mode is Observe, so nothing is started.`;
  return { ...quiet, ready: 'False', reason: reasons.observing, message };
}

function rollingOut({ fleet, targetVersion, waitingFor }: HealthInput): Health | undefined {
  const left = fleet ? outstanding(fleet.counts) : 0;
  if (!fleet || left === 0) return undefined;
  const { updated, inProgress } = fleet.counts;
  const progress = `${updated} of ${counted(fleet)} collectors run ${targetVersion}, ${inProgress} are being upgraded`;
  const message = waitingFor === undefined ? `${progress}.` : `${progress}; waiting for ${waitingFor}.`;
  return { ...atWork, reason: reasons.rollingOut, message };
}

function downgradeNeeded({ fleet, targetVersion }: HealthInput): Health | undefined {
  const newer = fleet?.counts.newer ?? 0;
  if (newer === 0) return undefined;
  const message = `${count(newer, 'collector')} run a newer version than ${targetVersion} and are left alone. Set spec.allowDowngrade to true to take them back.`;
  return { ...stalled, reason: reasons.downgradeNotAllowed, message };
}

function collectorsFailed({ fleet, targetVersion }: HealthInput): Health | undefined {
  const failed = fleet?.counts.failed ?? 0;
  if (failed === 0) return undefined;
  const message = `${count(failed, 'collector')} could not be brought to ${targetVersion} and have no attempts left; status.failureReasons says why. Mend them and raise spec.retryPolicy.limit, or exclude them.`;
  return { ...stalled, reason: reasons.collectorsFailed, message };
}

function collectorsRefused({ fleet }: HealthInput): Health | undefined {
  const leftAlone = fleet?.leftAlone ?? 0;
  if (leftAlone === 0) return undefined;
  const message = `${count(leftAlone, 'collector')} are left alone: the service refuses to upgrade them, or they keep leaving the target; status.skippedReasons says which. Mend or exclude them.`;
  return { ...stalled, reason: reasons.collectorsRefused, message };
}

function allUpdated({ fleet, targetVersion }: HealthInput): Health {
  const { counts, matched } = fleet as NonNullable<HealthInput['fleet']>;
  const left = [
    counts.offline > 0 ? `${counts.offline} offline` : '',
    counts.skipped > 0 ? `${counts.skipped} that cannot be upgraded` : '',
    counts.foreign > 0 ? `${counts.foreign} of other policies` : '',
  ].filter((text) => text !== '');
  const rest = left.length > 0 ? `; left out: ${left.join(', ')}` : '';
  const message = `${counts.updated} of ${matched} collectors run ${targetVersion}${rest}.`;
  return { ready: 'True', reason: reasons.allUpdated, message, reconciling: false, stalled: false };
}

/** Collectors that are still to be brought to the target, or on their way. */
export function outstanding(counts: Counts): number {
  return counts.pending + counts.inProgress + counts.retrying + counts.drifting;
}

/** The collectors that count: matched, of this policy, and such that can be upgraded now. */
export function counted({ counts, matched, leftAlone }: Fleet): number {
  return matched - counts.foreign - counts.offline - counts.skipped + leftAlone;
}

const stalled = { ready: 'False', reconciling: false, stalled: true } as const;
const atWork = { ready: 'False', reconciling: true, stalled: false } as const;
const quiet = { reconciling: false, stalled: false } as const;

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
