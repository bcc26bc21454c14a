/**
 * Decides whether the verdict in status still holds while this process has not read the fleet (H1). A new process, a new leader and
 * new credentials start without a fleet. The verdict in status stays until new evidence refutes it.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { type Health, reasonsOfSpecAndSecrets } from '../../controller/health.ts';

/** Present knowledge about a policy whose fleet has not been read. */
export interface SoFar {
  /** Target version of the policy, if known. */
  readonly target: string | undefined;
  /** Whether the Secret names the service of the stored ledger, or no ledger exists. */
  readonly sameService: boolean;
  /** Whether the service has answered this process. */
  readonly answered: boolean;
}

/** Verdicts that only a complete sweep confirms or refutes. */
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

/** Verdicts that concern only the host. They are refuted when the service can be asked. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.ledgerForeign,
  reasons.ledgerUnreadable,
  reasons.ledgerMissing,
  reasons.ledgerNotInstalled,
  reasons.manifestUnusable,
]);

/**
 * Whether the conditions of status still hold. They must belong to this generation of the policy, this service and this target, and
 * no later evidence may refute them.
 * @param found the verdict from the evidence of this process
 */
export function stillHolds(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  { target, sameService, answered }: SoFar,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || !sameService) return false;
  // A pause stays a pause. Its message counts running upgrades, which this process does not know yet.
  if (found.reason === reasons.paused) return shown.reason === reasons.paused;
  if (found.reason !== reasons.progressing) return false;
  if (ofTheFleet.has(shown.reason)) return target !== undefined && target === status?.targetVersion;
  return !answered && !ofTheHost.has(shown.reason);
}

/**
 * Whether the verdict of status stays until all policies of the service have claimed their collectors (U13). Until then the counts
 * of the fleet may be wrong, and so may each verdict on the fleet. Any other verdict is shown at once.
 * @param found the verdict from the evidence of this process, with counts that may be wrong
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
