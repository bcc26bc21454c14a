/**
 * How one collector stands towards a policy: the one place where a listing's row, the ledger's entry, ownership and the spec
 * come together. Each collector has exactly one standing; the counts in status are counts of these.
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { unreachable } from '../base/assert.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../base/build-version.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import { type Ending, type Entry, hasFailed } from './ledger.ts';
import type { PolicySettings } from './settings.ts';

/**
 * - `updated`: at the target. - `inProgress`: an upgrade runs, ours or somebody's.
 * - `pending`: may be upgraded at once. - `retrying`: failed, with attempts left. - `drifting`: was at the target and left it.
 * - `failed`: no attempts left. - `offline`: not running. - `newer`: beyond the target, and no leave to go back.
 * - `skipped`: cannot be upgraded, for a reason. - `foreign`: belongs to another policy.
 */
export type Standing =
  | 'updated'
  | 'inProgress'
  | 'pending'
  | 'retrying'
  | 'drifting'
  | 'failed'
  | 'offline'
  | 'newer'
  | 'skipped'
  | 'foreign';

export type SkipReason =
  | 'HostedCollector'
  | 'VersionUnreadable'
  | 'VersionNotObservable'
  | 'RefusedByService'
  | 'NotPermitted'
  | 'Contested'
  | 'NoStage'
  | 'TimeZoneUnreadable';

export interface StandingContext {
  readonly targetVersion: string;
  readonly target: BuildVersion | undefined;
  readonly allowDowngrade: boolean;
  readonly retryLimit: number;
  readonly settings: PolicySettings;
}

export interface StandingInput {
  readonly row: Row | undefined;
  readonly entry: Entry | undefined;
  /** Whether the collector belongs to this policy. */
  readonly owned: boolean;
  /** Whether it will belong to this policy once the upgrade of another policy, which is in flight, has ended (U13). */
  readonly awaited: boolean;
  /** Whether an upgrade that is not in this ledger is in flight, as far as this process knows (U13). */
  readonly busyElsewhere: boolean;
  /** Whether it was at the target before, in this rollout, and was then seen elsewhere (U8). */
  readonly drifted: boolean;
  /** Whether no stage has it, although the policy has stages. */
  readonly unstaged: boolean;
  /** Whether windows open by its own time zone, and it has none that can be read. */
  readonly zoneless: boolean;
}

/** Twice is once too often (U8). */
const maxDrifts = 1;

export function standingOf(input: StandingInput, context: StandingContext): Standing {
  const { row, entry } = input;
  if (entry?.open) return 'inProgress';
  if (!input.owned) return input.awaited ? 'inProgress' : 'foreign';
  if (entry?.back) return isBack(entry, context) || !isAtTarget(row, context) ? 'pending' : 'updated';
  if (isUpdated(row, entry?.ending, context)) return 'updated';
  if (skipReason(input, context)) return 'skipped';
  if (input.busyElsewhere) return 'inProgress';
  if (isNewer(row, context)) return 'newer';
  const ending = entry?.ending;
  // Who failed and reached the target after all is no failure any more (U6): leaving it again is a drift.
  if (entry && hasFailed(ending) && !input.drifted) {
    // It is at the target already: what killed it would kill it again.
    if (ending?.kind === 'died') return 'failed';
    return entry.used > context.retryLimit ? 'failed' : isOffline(row, ending) ? 'offline' : 'retrying';
  }
  if (isOffline(row, ending)) return 'offline';
  return input.drifted || wasUpdated(ending, context) ? 'drifting' : 'pending';
}

/** Whether one that stands so can be upgraded or has been, and proves something for those after it in their stages. */
export function isEligible(
  standing: Standing,
  { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>,
): boolean {
  switch (standing) {
    case 'foreign':
    case 'newer':
    case 'skipped':
      return false;
    case 'offline':
      return offlinePolicy === 'Wait';
    case 'updated':
    case 'inProgress':
    case 'pending':
    case 'retrying':
    case 'drifting':
    case 'failed':
      return true;
    default:
      return unreachable(standing);
  }
}

/** Whether the last attempt brought it to the target, wherever it is now. */
function wasUpdated(ending: Ending | undefined, { targetVersion }: StandingContext): boolean {
  return (ending?.kind === 'updated' || ending?.kind === 'left') && ending.toVersion === targetVersion;
}

/** Whether it was taken back to the version that it had before. */
function isBack({ ending }: Entry, { targetVersion }: StandingContext): boolean {
  return ending?.kind === 'updated' && ending.toVersion !== targetVersion;
}

function isAtTarget(row: Row | undefined, { targetVersion }: StandingContext): boolean {
  return row?.collector.collectorVersion === targetVersion;
}

/** Why a collector is left alone, or undefined where it is not. */
export function skipReason(input: StandingInput, context: StandingContext): SkipReason | undefined {
  const { row, entry } = input;
  const ending = entry?.ending;
  if (ending?.kind === 'unobservable') return 'VersionNotObservable';
  if (ending?.kind === 'refused') return 'RefusedByService';
  if (ending?.kind === 'invalid') return 'NotPermitted';
  if (row && row.collector.collectorType === 'Hosted') return 'HostedCollector';
  if (!row) return isWaitingUnseen(entry, context) ? 'VersionNotObservable' : undefined;
  if (!parseBuildVersion(row.collector.collectorVersion ?? '')) return 'VersionUnreadable';
  const left = input.drifted || wasUpdated(ending, context);
  if (left && entry && entry.drifts >= maxDrifts && isOffTarget(row, ending, context)) return 'Contested';
  if (entry) return undefined;
  if (input.unstaged) return 'NoStage';
  return input.zoneless ? 'TimeZoneUnreadable' : undefined;
}

/** Whether it waits for a listing that will not show it: it may well be at the only build of the service by now (U7). */
function isWaitingUnseen(entry: Entry | undefined, { retryLimit }: StandingContext): boolean {
  const ending = entry?.ending;
  return ending?.kind === 'offline' || (entry !== undefined && hasFailed(ending) && entry.used <= retryLimit);
}

function isUpdated(row: Row | undefined, ending: Ending | undefined, context: StandingContext): boolean {
  if (row?.collector.collectorVersion === context.targetVersion) {
    // Who died and runs again is as any other; a death is seen by a row that may be as old as it.
    if (ending?.kind === 'died') return row.collector.alive !== false;
    // What a listing showed before the attempt failed is older than the failure.
    return !hasFailed(ending) || row.seenAtMs >= (ending as Ending).sinceMs;
  }
  return wasUpdated(ending, context) && !isOffTarget(row, ending, context);
}

/** Whether it fell silent at the target after this rollout had brought it there. */
export function isSilent({ row, entry }: Pick<StandingInput, 'row' | 'entry'>, context: StandingContext): boolean {
  const ending = entry?.ending;
  if (!row || ending?.kind !== 'updated' || entry?.open || entry?.back || !isAtTarget(row, context)) return false;
  return row.collector.alive === false && row.seenAtMs >= ending.sinceMs;
}

/** Whether it is at the target although its last attempt did not end so (U6), lives again, or came back: it failed no more. */
export function isMended({ row, entry }: Pick<StandingInput, 'row' | 'entry'>, context: StandingContext): boolean {
  if (!entry || entry.open || entry.back || !isAtTarget(row, context)) return false;
  return (hasFailed(entry.ending) || entry.ending?.kind === 'left') && isUpdated(row, entry.ending, context);
}

/** Whether a listing sent G after the upgrade shows another version than the target (U8). */
function isOffTarget(row: Row | undefined, ending: Ending | undefined, context: StandingContext): boolean {
  if (!row || row.collector.collectorVersion === context.targetVersion) return false;
  return ending?.kind !== 'updated' || row.seenAtMs >= ending.sinceMs + context.settings.graceMs;
}

function isNewer(row: Row | undefined, context: StandingContext): boolean {
  if (context.allowDowngrade || !row || !context.target) return false;
  const version = parseBuildVersion(row.collector.collectorVersion ?? '');
  return version !== undefined && compareBuildVersions(version, context.target) > 0;
}

export function isOffline(row: Row | undefined, ending: Ending | undefined): boolean {
  if (!row) return false;
  if (row.collector.alive === false) return true;
  if (ending?.kind !== 'offline') return false;
  return (row.collector.lastSeenAliveMs ?? 0) <= (ending.lastSeenAliveMs ?? 0);
}
