/**
 * Computes the state of one collector in a policy from its listing row, ledger entry, ownership and the spec. Each collector has
 * exactly one state, and the counts in status are counts of these states.
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { unreachable } from '../../base/assert.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import { type Ending, type Entry, hasFailed } from '../ledger/ledger.ts';
import type { PolicySettings } from '../settings.ts';

/**
 * States of a collector.
 * - `updated`: runs the target.
 * - `inProgress`: an upgrade runs, started by logfleet or by someone else.
 * - `pending`: may be upgraded at once.
 * - `retrying`: failed, with attempts left.
 * - `drifting`: ran the target and left it.
 * - `failed`: retries exhausted.
 * - `offline`: not running.
 * - `newer`: newer than the target, and downgrades are not allowed.
 * - `skipped`: cannot be upgraded, for a reason.
 * - `foreign`: belongs to another policy.
 */
export type MemberState =
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

export interface MemberContext {
  readonly targetVersion: string;
  readonly target: BuildVersion | undefined;
  readonly allowDowngrade: boolean;
  readonly retryLimit: number;
  readonly settings: PolicySettings;
}

export interface MemberInput {
  readonly row: Row | undefined;
  readonly entry: Entry | undefined;
  /** Whether this policy owns the collector. */
  readonly owned: boolean;
  /** Whether this policy will own the collector when the upgrade in flight of another policy has ended (U13). */
  readonly awaited: boolean;
  /** Whether an upgrade that this ledger does not have is in flight (U13). */
  readonly busyElsewhere: boolean;
  /** Whether the collector ran the target in this rollout and was then seen at another version (U8). */
  readonly drifted: boolean;
  /** Whether the policy has stages, and no started stage and no later one takes the collector. */
  readonly unstaged: boolean;
  /** Whether windows use the collector's time zone and it has no readable one. */
  readonly zoneless: boolean;
}

/** Drifts that are corrected in one rollout; the next one makes the collector `Contested` (U8). */
const maxDrifts = 1;

export function memberStateOf(input: MemberInput, context: MemberContext): MemberState {
  const { row, entry } = input;
  if (entry?.open) return 'inProgress';
  if (!input.owned) return input.awaited ? 'inProgress' : 'foreign';
  if (entry?.back) return isBack(entry, context) || !isAtTarget(row, context) ? 'pending' : 'updated';
  if (isUpdated(row, entry?.ending, context)) return 'updated';
  if (skipReason(input, context)) return 'skipped';
  if (input.busyElsewhere) return 'inProgress';
  if (isNewer(row, context)) return 'newer';
  const ending = entry?.ending;
  // A failed collector that reached the target is no longer failed (U6). If it leaves the target, that is a drift.
  if (entry && hasFailed(ending) && !input.drifted) {
    // A dead collector already runs the target, and the same upgrade would kill it again.
    if (ending?.kind === 'died') return 'failed';
    return entry.used > context.retryLimit ? 'failed' : isOffline(row, ending) ? 'offline' : 'retrying';
  }
  if (isOffline(row, ending)) return 'offline';
  return input.drifted || wasUpdated(ending, context) ? 'drifting' : 'pending';
}

/** Whether a collector in this state can be upgraded or was upgraded, so that it counts for its stage. */
export function isEligible(
  memberState: MemberState,
  { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>,
): boolean {
  switch (memberState) {
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
      return unreachable(memberState);
  }
}

/** Whether the last attempt brought the collector to the target, whatever it runs now. */
function wasUpdated(ending: Ending | undefined, { targetVersion }: MemberContext): boolean {
  return (ending?.kind === 'updated' || ending?.kind === 'left') && ending.toVersion === targetVersion;
}

/** Whether the collector was rolled back to its former version. */
function isBack({ ending }: Entry, { targetVersion }: MemberContext): boolean {
  return ending?.kind === 'updated' && ending.toVersion !== targetVersion;
}

function isAtTarget(row: Row | undefined, { targetVersion }: MemberContext): boolean {
  return row?.collector.collectorVersion === targetVersion;
}

/** Reason why a collector is skipped, or undefined. */
export function skipReason(input: MemberInput, context: MemberContext): SkipReason | undefined {
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
  if (input.unstaged) return 'NoStage';
  if (entry) return undefined;
  return input.zoneless ? 'TimeZoneUnreadable' : undefined;
}

/** Whether the collector waits for a listing that cannot show it, because it may run the only build of the service (U7). */
function isWaitingUnseen(entry: Entry | undefined, { retryLimit }: MemberContext): boolean {
  const ending = entry?.ending;
  return ending?.kind === 'offline' || (entry !== undefined && hasFailed(ending) && entry.used <= retryLimit);
}

function isUpdated(row: Row | undefined, ending: Ending | undefined, context: MemberContext): boolean {
  if (row?.collector.collectorVersion === context.targetVersion) {
    // A collector that died and is alive again is treated like all others. The row that shows the death may be as old as the death.
    if (ending?.kind === 'died') return row.collector.alive !== false;
    // A row from before the failure does not refute the failure.
    return !hasFailed(ending) || row.seenAtMs >= (ending as Ending).sinceMs;
  }
  return wasUpdated(ending, context) && !isOffTarget(row, ending, context);
}

/** Whether the collector fell silent at the target after this rollout had upgraded it. */
export function isSilent({ row, entry }: Pick<MemberInput, 'row' | 'entry'>, context: MemberContext): boolean {
  const ending = entry?.ending;
  if (!row || ending?.kind !== 'updated' || entry?.open || entry?.back || !isAtTarget(row, context)) return false;
  return row.collector.alive === false && row.seenAtMs >= ending.sinceMs;
}

/** Whether the collector runs the target after a failed attempt (U6), is alive again, or came back. It is then no longer failed. */
export function isMended({ row, entry }: Pick<MemberInput, 'row' | 'entry'>, context: MemberContext): boolean {
  if (!entry || entry.open || entry.back || !isAtTarget(row, context)) return false;
  return (hasFailed(entry.ending) || entry.ending?.kind === 'left') && isUpdated(row, entry.ending, context);
}

/** Whether a listing sent G after the upgrade shows another version than the target (U8). */
function isOffTarget(row: Row | undefined, ending: Ending | undefined, context: MemberContext): boolean {
  if (!row || row.collector.collectorVersion === context.targetVersion) return false;
  return ending?.kind !== 'updated' || row.seenAtMs >= ending.sinceMs + context.settings.graceMs;
}

function isNewer(row: Row | undefined, context: MemberContext): boolean {
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
