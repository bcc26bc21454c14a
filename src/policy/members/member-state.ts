/**
 * Computes the state of one collector in a policy from its listing row, its ledger entry, its owner and the spec. Each
 * collector has exactly one state, and the counts in the policy's status are counts of these states. In addition to the
 * state, notes record facts from the service's list, for example that an upgraded collector is no longer alive.
 */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import { type Ending, type Entry, hasFailed } from '../ledger/ledger.ts';
import type { PolicySettings } from '../settings.ts';
import type { Counts } from './state-counts.ts';

/**
 * States of a collector in a policy.
 * - `updated`: the collector runs the target version.
 * - `inProgress`: an upgrade runs, started by logfleet or by another tool.
 * - `pending`: the collector can be upgraded.
 * - `retrying`: an upgrade failed, and retries are left.
 * - `drifting`: the collector ran the target version and left it.
 * - `failed`: an upgrade failed, and no retries are left.
 * - `offline`: the service does not hear from the collector.
 * - `newer`: the collector is newer than the target, and downgrades are not allowed.
 * - `skipped`: the collector cannot be upgraded, for a recorded reason.
 * - `foreign`: the collector belongs to another policy.
 */
export type MemberState = keyof Counts;

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
  /** Whether this policy will own the collector when the running upgrade of the present owner has ended (U13). */
  readonly awaited: boolean;
  /**
   * Whether the collector may have an upgrade in flight that this policy's ledger does not contain, such as one of another
   * policy (U13).
   */
  readonly busyElsewhere: boolean;
  /** Whether the collector ran the target version in this rollout and was then seen at another version (U8). */
  readonly drifted: boolean;
  /** Whether the policy has stages, and none of them takes the collector. */
  readonly unstaged: boolean;
  /** Whether the collector cannot be upgraded, because windows need its time zone, which is missing or unknown. */
  readonly zoneless: boolean;
}

/** Maximum number of times per rollout that a collector is upgraded again because it left the target version (U8). */
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
  // A failed collector that reached the target version later and left it again is not failed, but `drifting` (U6).
  if (entry && hasFailed(ending) && !input.drifted) {
    // A collector that stopped running at the target version is not retried, because the same version could stop it again.
    if (ending?.kind === 'died') return 'failed';
    return entry.used > context.retryLimit ? 'failed' : isOffline(row, ending) ? 'offline' : 'retrying';
  }
  if (isOffline(row, ending)) return 'offline';
  return input.drifted || wasUpdated(ending, context) ? 'drifting' : 'pending';
}

/** Whether a collector in this state can be upgraded or was upgraded. A stage counts only such collectors. */
export function isEligible(
  memberState: MemberState,
  { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>,
): boolean {
  if (memberState === 'offline') return offlinePolicy === 'Wait';
  return memberState !== 'foreign' && memberState !== 'newer' && memberState !== 'skipped';
}

/** Whether the last upgrade of the collector succeeded, even if the collector runs another version now. */
function wasUpdated(ending: Ending | undefined, { targetVersion }: MemberContext): boolean {
  return (ending?.kind === 'updated' || ending?.kind === 'left') && ending.toVersion === targetVersion;
}

/** Whether the collector runs its former version again because it was rolled back. */
function isBack({ ending }: Entry, { targetVersion }: MemberContext): boolean {
  return ending?.kind === 'updated' && ending.toVersion !== targetVersion;
}

function isAtTarget(row: Row | undefined, { targetVersion }: MemberContext): boolean {
  return row?.collector.collectorVersion === targetVersion;
}

/** Reason why a collector is skipped; undefined when it is not skipped. */
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

/**
 * Whether a collector that no list shows needs another upgrade attempt. The attempt cannot start, because the collector's
 * version is unknown (U7).
 */
function isWaitingUnseen(entry: Entry | undefined, { retryLimit }: MemberContext): boolean {
  const ending = entry?.ending;
  return ending?.kind === 'offline' || (entry !== undefined && hasFailed(ending) && entry.used <= retryLimit);
}

function isUpdated(row: Row | undefined, ending: Ending | undefined, context: MemberContext): boolean {
  if (row?.collector.collectorVersion === context.targetVersion) {
    // A collector that went offline after its upgrade counts as updated as soon as a listing shows it alive again.
    if (ending?.kind === 'died') return row.collector.alive !== false;
    // Only a listing after the failed upgrade can prove that the collector has reached the target version.
    return !hasFailed(ending) || row.seenAtMs >= (ending as Ending).sinceMs;
  }
  return wasUpdated(ending, context) && !isOffTarget(row, ending, context);
}

/** Whether this rollout upgraded the collector, and the collector runs the target version but is no longer alive. */
export function isSilent({ row, entry }: Pick<MemberInput, 'row' | 'entry'>, context: MemberContext): boolean {
  const ending = entry?.ending;
  if (!row || ending?.kind !== 'updated' || entry?.open || entry?.back || !isAtTarget(row, context)) return false;
  return row.collector.alive === false && row.seenAtMs >= ending.sinceMs;
}

/**
 * Whether the collector no longer counts as failed: it reached the target version after a failed attempt (U6), is alive again, or
 * returned to the target version.
 */
export function isMended({ row, entry }: Pick<MemberInput, 'row' | 'entry'>, context: MemberContext): boolean {
  if (!entry || entry.open || entry.back || !isAtTarget(row, context)) return false;
  return (hasFailed(entry.ending) || entry.ending?.kind === 'left') && isUpdated(row, entry.ending, context);
}

/**
 * Whether a listing shows the collector at another version than the target. After a successful upgrade, only a listing
 * requested at least a grace period (`graceMs`) later counts (U8).
 */
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

/**
 * Facts that the service's list shows about a collector:
 * - `silent`: this rollout upgraded the collector, but the collector is no longer alive.
 * - `silentBefore`: the collector runs the target version without an upgrade by this rollout, and is not alive.
 * - `mended`: the collector had failed, but now runs the target version and is alive.
 * - `contradicted`: the list contradicts the result of the last upgrade, so a later listing must confirm it (U6, U8).
 */
export type RowNote = 'silent' | 'silentBefore' | 'mended' | 'contradicted';

export const rowNotes: readonly RowNote[] = ['silent', 'silentBefore', 'mended', 'contradicted'];

/** @param mayBeOutdated whether an upgrade that this policy's ledger does not contain may have ended after the row was listed */
export function notesOf(
  row: Row | undefined,
  entry: Entry | undefined,
  memberState: MemberState,
  mayBeOutdated: boolean,
  context: MemberContext,
): Readonly<Record<RowNote, boolean>> {
  const isThere = row?.collector.collectorVersion === context.targetVersion;
  const isDead = isThere && row.collector.alive === false;
  const contradicts = entry?.ending !== undefined && isThere !== (memberState === 'updated');
  // A listing from before the end of the upgrade does not prove that the collector went offline after it. A later listing
  // must confirm this.
  const isUnseen = isDead && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
  return {
    silent: isSilent({ row, entry }, context),
    silentBefore: isDead && !entry,
    mended: isMended({ row, entry }, context),
    contradicted: contradicts || mayBeOutdated || isUnseen,
  };
}

/**
 * Send time in monotonic ms of the first listing that shows that the collector left the target version; undefined if the
 * collector did not leave it.
 * @param knownMs result for the collector's previous row
 * @param memberState state of the collector before this row
 */
export function driftSinceMs(
  knownMs: number | undefined,
  row: Row,
  entry: Entry | undefined,
  memberState: MemberState | undefined,
  { targetVersion, settings }: MemberContext,
): number | undefined {
  if (row.collector.collectorVersion === targetVersion || entry?.open) return undefined;
  // A rollback changes the version on purpose, so the new version is no drift.
  if (knownMs !== undefined || entry?.back) return knownMs;
  const ending = entry?.ending;
  const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
  const wasThere = memberState === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
  return wasThere && row.seenAtMs >= after ? row.seenAtMs : undefined;
}
