/**
 * Decides whether the health verdict in a policy's status still holds while this process has not read the collectors (H1). A new
 * process, a new leader and new credentials start without known collectors. The verdict in status stays until new evidence
 * contradicts it.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { type Health, reasonsOfSpecAndSecrets } from '../../controller/health.ts';

/** What this process knows about a policy whose collectors it has not read. */
export interface SoFar {
  /** Target version of the policy; undefined when unknown. */
  readonly target: string | undefined;
  /** Whether the Secret names the service to which the stored ledger belongs, or no ledger exists. */
  readonly sameService: boolean;
  /** Whether the service has answered any request of this process. */
  readonly answered: boolean;
}

/** Reasons of the `Ready` condition that only a reading of all collectors can confirm or contradict. */
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

/** Reasons of the `Ready` condition that no longer hold when this process can use the service. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.ledgerForeign,
  reasons.ledgerUnreadable,
  reasons.ledgerMissing,
  reasons.ledgerNotInstalled,
  reasons.manifestUnusable,
]);

/**
 * Whether the conditions in status still hold. They must belong to this generation of the policy, to this service and to this
 * target, and no newer evidence may contradict them.
 * @param found health verdict from the evidence of this process
 */
export function stillHolds(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  { target, sameService, answered }: SoFar,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || !sameService) return false;
  // If status already shows the policy as paused, its message stays, because the message contains the number of running upgrades,
  // which this process does not know yet.
  if (found.reason === reasons.paused) return shown.reason === reasons.paused;
  if (found.reason !== reasons.progressing) return false;
  if (ofTheFleet.has(shown.reason)) return target !== undefined && target === status?.targetVersion;
  return !answered && !ofTheHost.has(shown.reason);
}

/**
 * Whether the health verdict in status stays until all policies of the service have claimed their collectors (U13). Until
 * then, counts of collectors may be wrong, and so may the verdicts that depend on counts. Other verdicts are shown at once.
 * @param found verdict from the evidence of this process, with counts that may be wrong
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
