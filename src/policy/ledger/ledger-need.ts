/**
 * Whether a policy needs a ledger yet (U1), and the header of a policy that has none.
 *
 * A policy without an upgrade attempt, a stage, a stop or an action of a person has nothing in its ledger that status does not show. Such
 * a ledger is not written. `status.noLedgerFor` says so, which tells a ledger that was never written from a ledger that was lost.
 */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { emptyTally, type LedgerHeader, type RolloutHistory } from './ledger.ts';
import { newestNumber, rolloutNumber } from './rollout-header.ts';

/** The maximum length of `status.noLedgerFor`. */
const maxServiceLength = 1024;
/** Differs from the name of every selection. */
const unknownSelection = '';

/**
 * Whether the header holds more than status shows. A policy with ledger entries needs a ledger in any case.
 *
 * The selection is not shown. It has not changed as long as the generation of the spec is the one that status is about.
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

/** Whether status shows everything that the ledger holds about an ended rollout. */
function isShown({ outcome, failed, actions, stop }: RolloutHistory): boolean {
  const isQuiet = failed === 0 && actions === undefined && stop === undefined;
  return isQuiet && (outcome === 'Completed' || outcome === 'Superseded');
}

/** The header of a policy that has needed no ledger so far, from its status; undefined when a ledger was written, or nothing is known. */
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
    // Another spec may select other collectors. These are not late joiners; the complete rollout continues with them.
    ...(!isSameSpec && { selection: unknownSelection }),
    history,
  };
}

function fromRecord(record: NonNullable<CollectorVersionPolicyStatus['history']>[number]): RolloutHistory {
  const { id, targetVersion, startTime, completionTime, outcome, updated, failed } = record;
  const times = { startedAtMs: Date.parse(startTime), endedAtMs: Date.parse(completionTime) };
  return { id, targetVersion, ...times, outcome, updated, failed };
}
