/**
 * Decides whether the health verdict in a policy's status is kept while this process has not read the collectors yet, for
 * example after a restart or a change of leader (H1). The verdict is kept until newer facts contradict it.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { type Health, reasonsOfSpecAndSecrets } from '../../controller/health.ts';

/** Facts that this process knows about a policy before it has read the policy's collectors. */
export interface SoFar {
  /** Target version of the policy; undefined when unknown. */
  readonly target: string | undefined;
  /** Whether the policy's stored ledger, if any, belongs to the service that the Secret names. */
  readonly sameService: boolean;
  /** Whether the service has answered any request of this process. */
  readonly answered: boolean;
}

/** Reasons of the `Ready` condition that logfleet can confirm only after it has read all collectors. */
const ofTheFleet: ReadonlySet<string> = new Set([
  reasons.allUpdated,
  reasons.rollingOut,
  reasons.observing,
  reasons.awaitingApproval,
  reasons.soaking,
  reasons.waitingForWindow,
  reasons.rollingBack,
  reasons.rolledBack,
  reasons.rolloutStopped,
  reasons.stageInconclusive,
  reasons.aborted,
  reasons.collectorsFailed,
  reasons.collectorsRefused,
  reasons.downgradeNotAllowed,
  reasons.noCollectorsMatched,
  reasons.ledgerFull,
]);

/** Reasons of the `Ready` condition that report an unusable spec, Secret, ledger or manifest. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.ledgerForeign,
  reasons.ledgerUnreadable,
  reasons.ledgerMissing,
  reasons.ledgerNotInstalled,
  reasons.manifestUnusable,
]);

/**
 * Whether the conditions in status still hold: they are for this generation, service and target, and no newer fact
 * contradicts them.
 * @param found health verdict of this process, which has not read the collectors
 */
export function stillHolds(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  { target, sameService, answered }: SoFar,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || !sameService) return false;
  // The message of a paused policy stays, because it contains the number of running upgrades, which this process does not
  // know yet.
  if (found.reason === reasons.paused) return shown.reason === reasons.paused;
  if (found.reason !== reasons.progressing) return false;
  if (ofTheFleet.has(shown.reason)) return target !== undefined && target === status?.targetVersion;
  return !answered && !ofTheHost.has(shown.reason);
}

/**
 * Whether status keeps its health verdict until all policies have claimed their collectors and counts are reliable (U13).
 * @param found verdict of this process, based on counts that may be wrong
 */
export function staysUntilClaimed(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  target: string | undefined,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (shown?.observedGeneration !== metadata.generation || status?.targetVersion !== target) return false;
  return shown.reason === found.reason || (ofTheFleet.has(shown.reason) && ofTheFleet.has(found.reason));
}
