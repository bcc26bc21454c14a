/**
 * Plans the rollback of a rollout (R7): upgraded collectors return to their former versions (U14). A collector whose
 * former version is unknown keeps its version, and the status reports this collector.
 */
import type { Row } from '../../fleet/fleet-rows.ts';
import { type EndingKind, type Entry, hasFailed } from '../ledger/ledger.ts';
import { isOffline } from '../members/member-state.ts';
import type { PendingChanges } from '../members/pending-changes.ts';
import type { MemberView } from '../members/policy-member-index.ts';

export interface RollbackPlan {
  /** Collectors whose rollback can start now. */
  readonly candidates: readonly Entry[];
  /** Collectors that already run their former version. */
  readonly there: readonly Entry[];
  /** Number of running upgrades and rollbacks. */
  readonly inFlight: number;
  readonly rolledBack: number;
  /** Collectors that cannot be rolled back, each with a reason such as an unknown former version. */
  readonly left: readonly Left[];
  /** Number of offline collectors. They are rolled back as soon as they are alive again. */
  readonly offline: number;
}

export interface Left {
  readonly collectorId: string;
  /** Reason why the collector is not rolled back, for display. */
  readonly why: string;
}

/**
 * Plans the rollback of all collectors that this rollout upgraded.
 * @param isZoneless reports whether a collector lacks a readable time zone that its maintenance windows need
 */
export function planRollback(
  memberIndex: MemberView,
  pending: PendingChanges,
  target: string,
  graceMs: number,
  isZoneless: (row: Row | undefined) => boolean,
): RollbackPlan {
  const left: Left[] = [];
  const groups = Map.groupBy(pending.entries(), (entry): RollbackState => {
    const { collectorId } = entry;
    const found = rollbackStateOf(entry, memberIndex, target, graceMs);
    const row = memberIndex.row(collectorId);
    const zoneless = row
      ? 'the collector reports no valid time zone, but its maintenance windows need one'
      : "the service's list of collectors does not show the collector's time zone, which its maintenance windows need";
    const place = found === 'candidate' && isZoneless(row) ? { why: zoneless } : found;
    if (typeof place !== 'object') return place;
    left.push({ collectorId, ...place });
    return 'elsewhere';
  });
  const of = (place: RollbackState) => groups.get(place) ?? [];
  return {
    candidates: of('candidate'),
    there: of('there'),
    inFlight: of('inFlight').length,
    rolledBack: of('rolledBack').length + of('there').length,
    left,
    offline: of('offline').length,
  };
}

/** Reports whether the rollback has finished. Offline collectors that are still to be rolled back are ignored. */
export function isRollbackOver({ candidates, inFlight }: RollbackPlan): boolean {
  return candidates.length === 0 && inFlight === 0;
}

type RollbackState = 'elsewhere' | 'inFlight' | 'rolledBack' | 'there' | 'offline' | 'candidate';

function rollbackStateOf(
  entry: Entry,
  memberIndex: MemberView,
  target: string,
  graceMs: number,
): RollbackState | Omit<Left, 'collectorId'> {
  const { open, ending, isRollback, before, used, collectorId } = entry;
  if (open) return 'inFlight';
  if (isRollback && ending?.kind === 'updated' && ending.toVersion !== target) return 'rolledBack';
  if (!isRollback && !wasUpgradedTo(entry, target)) return 'elsewhere';
  const row = memberIndex.row(collectorId);
  // Another policy takes precedence for this collector, so this policy does not roll the collector back (U13).
  if (!memberIndex.comesFirst(collectorId)) return 'elsewhere';
  // A collector is not rolled back if the service's list does not show it and it no longer belongs to the policy. If
  // the service offers only one build, collectors that may be running this build remain in the policy even if the list
  // does not show them (U7).
  if (!row && memberIndex.member(collectorId)?.memberState === undefined) return 'elsewhere';
  if (before === undefined || before === target) return { why: 'no former version on record' };
  if (row?.collector.collectorVersion === before && row.seenAtMs >= (ending?.sinceMs ?? 0) + graceMs) return 'there';
  const words = ending?.message || 'no reason given';
  if (isRollback && (ending?.kind === 'refused' || ending?.kind === 'invalid')) return { why: words };
  if (isRollback && hasFailed(ending) && used > memberIndex.context.retryLimit) return { why: words };
  // If no listing shows the collector, logfleet does not know whether it is alive (U11) or which version it runs (U6).
  if (!row && ending?.kind === 'offline')
    return {
      why: "the collector was offline, and is missing from the service's list of collectors, so its return cannot be detected",
    };
  if (!row && isRollback && hasFailed(ending))
    return {
      why: `${words}; the rollback cannot be retried, because the collector is missing from the service's list of collectors`,
    };
  return isOffline(row, ending) ? 'offline' : 'candidate';
}

/**
 * Reports whether this rollout upgraded the collector. Also returns true if the result of the upgrade is unknown,
 * because the collector then probably runs the target version (U7).
 */
function wasUpgradedTo({ ending, used }: Entry, target: string): boolean {
  return used > 0 && ending?.toVersion === target && upgradedKinds.has(ending.kind);
}

const upgradedKinds: ReadonlySet<EndingKind> = new Set(['updated', 'died', 'left', 'unobservable']);
