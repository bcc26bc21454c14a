/** Reads upgrade attempts and stages from stored ledgers. The checks use this code instead of the operator's. */
import type { Intent, LedgerWrite, RecordedStage } from './record.ts';

/** Contents of one ledger's objects, by object name. */
export type RecordedShards = ReadonlyMap<string, string>;

interface RecordedHead {
  readonly header: Header;
  /** For each started stage, the number of ledger objects that list its collectors. */
  readonly memberShards: readonly number[];
  readonly open: readonly (readonly [RecordedEntry, RecordedAttempt])[];
}

interface Header {
  readonly rolloutId: string;
  readonly target: string;
  readonly completedAtMs?: number;
  readonly stop?: { readonly kind: Intent['stop'] };
  readonly selected?: number;
  readonly tally: LedgerWrite['tally'];
  readonly attempts: number;
  readonly stages?: readonly RecordedStageHead[];
}

interface RecordedStageHead extends Omit<RecordedStage, 'members'> {
  /** Number of the stage's collectors. Absent for a last stage that takes all remaining collectors. */
  readonly members?: number;
}

/**
 * Last fields of an upgrade attempt in the ledger. The first identifies the failure count to which the attempt belongs,
 * because each retry starts a new count. The second is the index of the stage. The third is 1 for a rollback.
 */
type RecordedAttemptRest = readonly [unknown?, unknown?, (0 | 1)?];
/** Ledger entry of a collector: id, previous version, attempts, changes by other tools, and outcome. */
type RecordedEntry = readonly [string, unknown, unknown, unknown, unknown?, RecordedAttemptRest?];
/**
 * Upgrade attempt as stored in the ledger: its number, target version, state and task id. The fifth field is 1 if
 * logfleet created the task. The sixth field is 1 if the request was repeated.
 */
type RecordedAttempt = readonly [number, string, number, string | null, 0 | 1, 0 | 1];

/** State of an upgrade attempt that is in the ledger, but whose request has not been sent yet. */
const intended = 0;

/** Finds the ledger's upgrade attempt for which this request was sent. */
export function intentOf(
  ledgers: ReadonlyMap<string, RecordedShards>,
  collectorId: string,
  toVersion: string,
): Intent | undefined {
  for (const [policy, shards] of ledgers) {
    const { header, open } = JSON.parse(shards.get('head') ?? emptyHead) as RecordedHead;
    const found = open.find(
      ([[id], [, version, state]]) => id === collectorId && version === toVersion && state === intended,
    );
    if (!found) continue;
    const [[, , , , , rest = []], attempt] = found;
    return {
      policy,
      rolloutId: header.rolloutId,
      target: header.target,
      probe: attempt[5] === 1,
      isRollback: rest[2] === 1,
      stop: header.stop?.kind,
    };
  }
  return undefined;
}

const emptyHead = '{"header":{},"memberShards":[],"open":[]}';

export function ledgerWrite(atMs: number, policy: string, shards: RecordedShards): LedgerWrite {
  const { header, memberShards } = JSON.parse(shards.get('head') ?? emptyHead) as RecordedHead;
  const { rolloutId, target, stop, selected, tally, attempts, stages = [] } = header;
  return {
    atMs,
    policy,
    rolloutId,
    target,
    stop: stop?.kind,
    selected,
    tally,
    attempts,
    completedAtMs: header.completedAtMs,
    stages: stages.map((stage, index) => ({
      ...stage,
      members: stage.members === undefined ? undefined : membersOf(shards, index, memberShards[index] ?? 0),
    })),
  };
}

function membersOf(shards: RecordedShards, stage: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, part) => shards.get(`members-${stage}-${part}`)).flatMap((text) =>
    text === undefined ? [missingMember] : (JSON.parse(text) as { readonly members: readonly string[] }).members,
  );
}

/** Placeholder for the collector ids in a missing ledger object. */
export const missingMember = 'missing shard';
