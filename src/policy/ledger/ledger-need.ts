/**
 * Decides whether a policy needs a stored ledger yet (U1), and builds the ledger header of a policy without one.
 *
 * A policy without an upgrade attempt, a started stage, a stop, or an action of a person has nothing in its ledger that its
 * status does not show. Such a ledger is not stored. The field `status.noLedgerFor` then names the service, so that a ledger that
 * was never stored is not mistaken for a lost one.
 */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { emptyTally, type LedgerHeader, type RolloutHistory } from './ledger.ts';
import { newestNumber, rolloutNumber } from './rollout-header.ts';

/** Maximum number of characters of the service's name in `status.noLedgerFor`. */
const maxServiceLength = 1024;
/** Placeholder for an unknown selection, which differs from the name of every real selection. */
const unknownSelection = '';

/**
 * Whether the ledger header contains something that the policy's status does not show. A policy with ledger entries needs a
 * stored ledger in any case.
 *
 * Status does not show the selection. The selection is unchanged while the generation of the spec equals the generation in
 * status.
 */
export function needsLedger(header: LedgerHeader): boolean {
  const { service, attempts, stages = [], approved, unproven, stop, actions, handled, pauseNoted, history } = header;
  return (
    service.length > maxServiceLength ||
    attempts > 0 ||
    stages.length > 0 ||
    [approved, unproven, stop, actions, handled, pauseNoted].some((value) => value !== undefined) ||
    history.some((one) => !isShown(one))
  );
}

/**
 * Whether the policy's status shows everything that the ledger contains about one ended rollout.
 */
function isShown({ outcome, failed, actions, stop }: RolloutHistory): boolean {
  const isQuiet = failed === 0 && actions === undefined && stop === undefined;
  return isQuiet && (outcome === 'Completed' || outcome === 'Superseded');
}

/**
 * Builds the ledger header of a policy that has not needed a stored ledger so far, from its status. Undefined when a ledger was
 * stored, or when status does not say so.
 */
export function headerFromStatus(policy: CollectorVersionPolicy, wallMs: number): LedgerHeader | undefined {
  const { metadata, status } = policy;
  const { noLedgerFor: service, targetVersion: target } = status ?? {};
  if (!status || service === undefined || target === undefined) return undefined;
  const history = (status.history ?? []).map(fromRecord);
  const [newest] = history;
  const { rollout } = status;
  const isNewest = rollout ? newest?.id === rollout.id : newest?.targetVersion === target;
  const own = isNewest && newest?.outcome === 'Completed' ? newest : undefined;
  const rolloutId = rollout?.id ?? own?.id ?? `${newestNumber(status) + 1}-${target}`;
  const isSameSpec = status.observedGeneration === metadata.generation;
  return {
    service,
    rolloutId,
    rolloutNumber: rolloutNumber(rolloutId),
    target,
    startedAtMs: rollout ? Date.parse(rollout.startTime) : (own?.startedAtMs ?? wallMs),
    completedAtMs: own?.endedAtMs,
    attempts: 0,
    tally: { ...emptyTally, number: 0 },
    // Another spec may select other collectors. The placeholder marks the selection as changed, so these collectors continue the
    // completed rollout and do not count as late joiners.
    ...(!isSameSpec && { selection: unknownSelection }),
    history,
  };
}

function fromRecord(record: NonNullable<CollectorVersionPolicyStatus['history']>[number]): RolloutHistory {
  const { id, targetVersion, startTime, completionTime, outcome, updated, failed } = record;
  const times = { startedAtMs: Date.parse(startTime), endedAtMs: Date.parse(completionTime) };
  return { id, targetVersion, ...times, outcome, updated, failed };
}
