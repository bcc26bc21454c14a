/**
 * Reads ledgers (stored upgrade attempts) from the API server, for the oracles that check a history. It finds the upgrade attempt
 * of a POST (U2), and the stages of a rollout.
 *
 * The file shares no code with the operator's own reader of the format.
 */
import type { Intent, LedgerWrite, RecordedStage } from './record.ts';

/** Contents of one ledger's shards (parts) as texts, by shard name. */
export type Shards = ReadonlyMap<string, string>;

/** Fields of the ledger's header shard that the oracles read. Ledger entries are packed arrays. */
interface Head {
  readonly header: Header;
  /** For each started stage, the number of ledger shards (parts) that hold its collectors. */
  readonly memberShards: readonly number[];
  readonly open: readonly (readonly [PackedEntry, PackedAttempt])[];
}

interface Header {
  readonly rolloutId: string;
  readonly target: string;
  readonly completedAtMs?: number;
  readonly stop?: { readonly kind: Intent['stop'] };
  readonly selected?: number;
  readonly tally: LedgerWrite['tally'];
  readonly attempts: number;
  readonly stages?: readonly Stage[];
}

interface Stage extends Omit<RecordedStage, 'members'> {
  /** Number of collectors of the stage; absent for a stage without a list of collectors. */
  readonly members?: number;
}

/**
 * Last fields of a packed ledger entry: the rollout's count and the stage's count that include the attempt, and 1 for a rollback
 * attempt.
 */
type PackedRest = readonly [unknown?, unknown?, (0 | 1)?];
/**
 * Packed ledger entry: collector, version before the upgrade, number of attempts, number of drifts, kind of ending, and further
 * fields.
 */
type PackedEntry = readonly [string, unknown, unknown, unknown, unknown?, PackedRest?];
/**
 * Packed upgrade attempt: number, target version, state, task id, 1 if logfleet started the task, and 1 for a probe (repeated
 * POST).
 */
type PackedAttempt = readonly [number, string, number, string | null, 0 | 1, 0 | 1];

/** State of an upgrade attempt that was written to the ledger and not yet sent. */
const intended = 0;

/**
 * Finds the upgrade attempt that a POST carries out.
 *
 * @param ledgers shards (parts) of all stored ledgers, by the uids of their policies
 */
export function intentOf(
  ledgers: ReadonlyMap<string, Shards>,
  collectorId: string,
  toVersion: string,
): Intent | undefined {
  for (const [policy, shards] of ledgers) {
    const { header, open } = JSON.parse(shards.get('head') ?? emptyHead) as Head;
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
      back: rest[2] === 1,
      stop: header.stop?.kind,
    };
  }
  return undefined;
}

const emptyHead = '{"header":{},"memberShards":[],"open":[]}';

/** Reads the header of a ledger, together with the collectors of its stages. */
export function ledgerWrite(atMs: number, policy: string, shards: Shards): LedgerWrite {
  const { header, memberShards } = JSON.parse(shards.get('head') ?? emptyHead) as Head;
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

function membersOf(shards: Shards, stage: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, part) => shards.get(`members-${stage}-${part}`)).flatMap((text) =>
    text === undefined ? [missingMember] : (JSON.parse(text) as { readonly members: readonly string[] }).members,
  );
}

/** Id that stands for the collectors of a ledger shard that the header names but the store does not have. */
export const missingMember = 'missing shard';
