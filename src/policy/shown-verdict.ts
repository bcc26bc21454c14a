/**
 * Which verdict of status still holds while this process has not read the fleet (H1). A new process, a new leader and new credentials
 * begin without a fleet. Status shows what was true before, and that stays until something else is observed.
 */
import { findCondition, reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { type Health, reasonsOfSpecAndSecrets } from '../controller/health.ts';

/** What this process knows so far of a policy whose fleet it has not read. */
export interface SoFar {
  /** The version that the policy goes to, as far as it is known. */
  readonly target: string | undefined;
  /** Whether the Secret leads to the service that the stored ledger is about, or no ledger tells. */
  readonly sameService: boolean;
  /** Whether the service has answered this process. */
  readonly answered: boolean;
}

/** Verdicts that only a read fleet confirms or refutes. */
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
  reasons.aborted,
  reasons.collectorsFailed,
  reasons.collectorsRefused,
  reasons.downgradeNotAllowed,
  reasons.noCollectorsMatched,
  reasons.ledgerFull,
]);

/** Verdicts that the host alone confirms or refutes: once the service can be asked, they are refuted. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.ledgerForeign,
  reasons.ledgerUnreadable,
  reasons.ledgerMissing,
  reasons.ledgerNotInstalled,
  reasons.manifestUnusable,
]);

/**
 * Whether the conditions of status still hold. They have to be about this text of the policy, this service and this target. Nothing that
 * was observed since may refute them.
 * @param found the verdict on what this process has observed
 */
export function stillHolds(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  { target, sameService, answered }: SoFar,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || !sameService) return false;
  // A pause stays a pause; its message counts what runs, which this process does not know yet.
  if (found.reason === reasons.paused) return shown.reason === reasons.paused;
  if (found.reason !== reasons.progressing) return false;
  if (ofTheFleet.has(shown.reason)) return target !== undefined && target === status?.targetVersion;
  return !answered && !ofTheHost.has(shown.reason);
}

/**
 * Whether the verdict of status stays until all policies of the service have claimed their collectors (U13). Until then the counts of a
 * fleet may be wrong, and with them each verdict on the fleet. Any other verdict is shown at once.
 * @param found the verdict on what this process has observed, with counts that may be wrong
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
