/**
 * Decides whether the conditions in the status stay unchanged until this process has read the collectors, for example
 * after a restart (H1).
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { type Health, reasonsOfSpecAndSecrets } from '../../controller/health.ts';

/** Data about a policy that is known before its collectors are read. */
export interface SoFar {
  /** Target version of the policy, if known. */
  readonly target: string | undefined;
  /** True unless the stored ledger belongs to another service. */
  readonly sameService: boolean;
  /** True if the service has answered a request from this process. */
  readonly answered: boolean;
}

/** Reasons of the `Ready` condition that can be confirmed only after all collectors have been read. */
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
  reasons.ledgerInaccessible,
]);

/** Reasons of the `Ready` condition if the spec, Secret, ledger or manifest is unusable. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.ledgerForeign,
  reasons.ledgerUnreadable,
  reasons.ledgerMissing,
  reasons.ledgerNotInstalled,
  reasons.manifestUnusable,
]);

/**
 * Reports whether the conditions in the status may still be correct, because no newer data contradicts them.
 * @param found health that this process computed without reading the collectors
 */
export function stillHolds(
  { metadata, status }: CollectorVersionPolicy,
  found: Health,
  { target, sameService, answered }: SoFar,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || !sameService) return false;
  // Compares only the reasons of the conditions, because the message contains the number of running upgrades, which is
  // not known yet.
  if (found.reason === reasons.paused) return shown.reason === reasons.paused;
  if (found.reason !== reasons.progressing) return false;
  if (ofTheFleet.has(shown.reason)) return target !== undefined && target === status?.targetVersion;
  return !answered && !ofTheHost.has(shown.reason);
}

/**
 * Reports whether the status keeps its conditions until the collector counts are reliable (U13).
 * @param found health that this process computed from counts that may still be wrong
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
