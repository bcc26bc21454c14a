/** Computes the state of one collector in a policy. The policy's status shows how many collectors are in each state. */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import { type BuildVersion, compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import { type Ending, type Entry, hasFailed } from '../ledger/ledger.ts';
import type { Counts } from './state-counts.ts';

/**
 * States that a collector can have in a policy.
 * - `updated`: the collector runs the target version.
 * - `inProgress`: an upgrade started by logfleet or by another tool is running.
 * - `pending`: the collector can be upgraded.
 * - `retrying`: an upgrade failed, and retries are left.
 * - `drifting`: the collector ran the target version, but now runs another version.
 * - `failed`: an upgrade failed, and no retries are left, or the collector is offline and `offlinePolicy` is `Skip`.
 * - `offline`: the service has not heard from the collector for some time.
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
  readonly offlinePolicy: CollectorVersionPolicySpec['offlinePolicy'];
  readonly retryLimit: number;
  readonly settings: PolicySettings;
}

export interface MemberInput {
  readonly row: Row | undefined;
  readonly entry: Entry | undefined;
  /** True if this policy owns the collector. */
  readonly owned: boolean;
  /** True if this policy will own the collector as soon as the current owner's upgrade has ended (U13). */
  readonly awaited: boolean;
  /**
   * Version of an upgrade that is not in this policy's ledger, and that is running or whose result no listing shows yet
   * (U8, U13). Undefined if there is no such upgrade.
   */
  readonly elsewhere: string | undefined;
  /** True if the collector reached the target version in this rollout, and later left that version (U8). */
  readonly drifted: boolean;
  /** True if the policy has stages, but no stage may choose the collector. */
  readonly unstaged: boolean;
  /** True if a maintenance window needs the collector's time zone, but the collector reports none or an unknown one. */
  readonly zoneless: boolean;
}

/** Maximum number of times in a rollout that a collector is upgraded again after it left the target version (U8). */
const maxDrifts = 1;

export function memberStateOf(input: MemberInput, context: MemberContext): MemberState {
  const { row, entry } = input;
  if (entry?.open) return 'inProgress';
  if (!input.owned) return input.awaited ? 'inProgress' : 'foreign';
  if (entry?.isRollback) return isRolledBack(entry, context) || !isAtTarget(row, context) ? 'pending' : 'updated';
  // During an upgrade to another version, the row may show the target version although the collector has left it.
  const isRowValid = (input.elsewhere ?? context.targetVersion) === context.targetVersion;
  if (isRowValid && isUpdated(row, entry?.ending, context)) return 'updated';
  if (skipReason(input, context)) return 'skipped';
  if (input.elsewhere !== undefined) return 'inProgress';
  if (isNewer(row, context)) return 'newer';
  const { ending, used = 0 } = entry ?? {};
  // A collector that went offline while it ran the target version is not upgraded again, because that version may be
  // the cause.
  if (ending?.kind === 'died') return 'failed';
  // An offline collector counts as failed if its last upgrade attempt did not succeed, because this attempt may have
  // taken the collector offline (R5). With `offlinePolicy: Wait`, the stage waits for the collector instead, and then
  // retries the upgrade.
  if (isOffline(row, ending)) {
    const isAwaited = context.offlinePolicy === 'Wait' && used <= context.retryLimit;
    return used > 0 && ending?.kind !== 'updated' && !isAwaited ? 'failed' : 'offline';
  }
  // A failed collector that reached the target version, and then left it, is `drifting` (U6).
  if (input.drifted || wasUpdated(ending, context)) return 'drifting';
  if (hasFailed(ending)) return used > context.retryLimit ? 'failed' : 'retrying';
  return 'pending';
}

/** Reports whether a collector can be upgraded or has been upgraded. A stage counts only such collectors. */
export function isEligible(
  memberState: MemberState,
  { offlinePolicy }: Pick<CollectorVersionPolicySpec, 'offlinePolicy'>,
): boolean {
  if (memberState === 'offline') return offlinePolicy === 'Wait';
  return memberState !== 'foreign' && memberState !== 'newer' && memberState !== 'skipped';
}

/** Reports whether the collector's last upgrade succeeded, even if the collector now runs another version. */
function wasUpdated(ending: Ending | undefined, { targetVersion }: MemberContext): boolean {
  return (ending?.kind === 'updated' || ending?.kind === 'left') && ending.toVersion === targetVersion;
}

/** Reports whether the collector was rolled back to its former version. */
function isRolledBack({ ending }: Entry, { targetVersion }: MemberContext): boolean {
  return ending?.kind === 'updated' && ending.toVersion !== targetVersion;
}

function isAtTarget(row: Row | undefined, { targetVersion }: MemberContext): boolean {
  return row?.collector.collectorVersion === targetVersion;
}

/** Returns the reason why a collector is skipped, or undefined if it is not skipped. */
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
 * Reports whether a collector that is missing from the service's list needs another upgrade. The upgrade cannot start,
 * because no list shows the collector's version (U7).
 */
function isWaitingUnseen(entry: Entry | undefined, { retryLimit }: MemberContext): boolean {
  const ending = entry?.ending;
  return ending?.kind === 'offline' || (entry !== undefined && hasFailed(ending) && entry.used <= retryLimit);
}

function isUpdated(row: Row | undefined, ending: Ending | undefined, context: MemberContext): boolean {
  if (row?.collector.collectorVersion === context.targetVersion) {
    // A collector that went offline after its upgrade counts as updated again as soon as it is alive.
    if (ending?.kind === 'died') return row.collector.alive !== false;
    // Only a listing requested after the upgrade failed can show that the collector reached the target version anyway.
    return !hasFailed(ending) || row.seenAtMs >= (ending as Ending).sinceMs;
  }
  return wasUpdated(ending, context) && !isOffTarget(row, ending, context);
}

/** Reports whether a listing shows that an upgraded collector is no longer alive. */
export function isSilent({ row, entry }: Pick<MemberInput, 'row' | 'entry'>, context: MemberContext): boolean {
  const ending = entry?.ending;
  if (!row || ending?.kind !== 'updated' || entry?.open || entry?.isRollback || !isAtTarget(row, context)) return false;
  return row.collector.alive === false && row.seenAtMs >= ending.sinceMs;
}

/** Reports whether a failed collector now runs the target version (U6). */
export function isUpdatedAfterFailure(
  { row, entry }: Pick<MemberInput, 'row' | 'entry'>,
  context: MemberContext,
): boolean {
  if (!entry || entry.open || entry.isRollback || !isAtTarget(row, context)) return false;
  const { ending, used } = entry;
  // After a failed upgrade, the service may have refused the retry because the collector was offline.
  const isFailure = hasFailed(ending) || ending?.kind === 'left' || (ending?.kind === 'offline' && used > 0);
  return isFailure && isUpdated(row, ending, context);
}

/**
 * Reports whether a listing shows a version other than the target. A listing requested within a grace period after the
 * upgrade does not count, because it may be outdated (U8).
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
 * Notes about a collector that the service's list shows:
 * - `silent`: this rollout upgraded the collector, and the collector is no longer alive.
 * - `silentBefore`: the collector runs the target version, was not upgraded by this rollout, and is not alive.
 * - `mended`: the collector's upgrade failed, but the collector now runs the target version.
 * - `contradicted`: the list contradicts the outcome of the last upgrade, and another listing must show which is
 *   correct (U6, U8).
 */
export type RowNote = 'silent' | 'silentBefore' | 'mended' | 'contradicted';

export const rowNotes: readonly RowNote[] = ['silent', 'silentBefore', 'mended', 'contradicted'];

/**
 * Returns the notes about a collector that follow from the collector's row in the service's list.
 * @param mayBeOutdated true if an upgrade outside this policy's ledger may have ended after the row was listed
 */
export function notesOf(
  row: Row | undefined,
  entry: Entry | undefined,
  memberState: MemberState,
  mayBeOutdated: boolean,
  context: MemberContext,
): Readonly<Record<RowNote, boolean>> {
  const isThere = isAtTarget(row, context);
  const isDead = isThere && row?.collector.alive === false;
  const contradicts = entry?.ending !== undefined && isThere !== (memberState === 'updated');
  // A listing requested before the end of the upgrade cannot show whether the collector went offline after the upgrade.
  const isUnseen = isDead && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
  return {
    silent: isSilent({ row, entry }, context),
    silentBefore: isDead && !entry,
    mended: isUpdatedAfterFailure({ row, entry }, context),
    contradicted: contradicts || mayBeOutdated || isUnseen,
  };
}

/**
 * Returns the monotonic time in ms at which a listing first showed that the collector had left the target version.
 * Returns undefined if the collector has not left the target version.
 * @param knownMs result of the previous call for this collector
 * @param memberState state of the collector before `row` was received
 */
export function driftSinceMs(
  knownMs: number | undefined,
  row: Row,
  entry: Entry | undefined,
  memberState: MemberState | undefined,
  { targetVersion, settings }: MemberContext,
): number | undefined {
  if (row.collector.collectorVersion === targetVersion || entry?.open) return undefined;
  // A rollback makes the collector leave the target version on purpose.
  if (knownMs !== undefined || entry?.isRollback) return knownMs;
  const ending = entry?.ending;
  const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
  const wasThere = memberState === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
  return wasThere && row.seenAtMs >= after ? row.seenAtMs : undefined;
}
