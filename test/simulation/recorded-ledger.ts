/**
 * Reads the upgrade attempts and stages in stored ledgers, for the checks of simulated runs. It shares no code with the
 * operator.
 */
import type { Intent, LedgerWrite, RecordedStage } from './record.ts';

/** Contents of the objects that store one ledger, by object name. */
export type Shards = ReadonlyMap<string, string>;

/** Fields of a ledger's first object, which is named `head`. */
interface Head {
  readonly header: Header;
  /** For each started stage, the number of ledger objects that list its collectors. */
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
  /** Number of collectors of the stage; absent for a last stage that takes all remaining collectors. */
  readonly members?: number;
}

/**
 * Last fields of a stored ledger entry: the number of the rollout's failure count, the index of the stage, and 1 for a rollback.
 */
type PackedRest = readonly [unknown?, unknown?, (0 | 1)?];
/**
 * Stored ledger entry of a collector, as an array: its id, its former version, the number of attempts, how often others changed
 * the version, and how it ended.
 */
type PackedEntry = readonly [string, unknown, unknown, unknown, unknown?, PackedRest?];
/**
 * Stored upgrade attempt, as an array: its number, target version, state and task id, 1 if logfleet created the task, and 1 if
 * the request was repeated.
 */
type PackedAttempt = readonly [number, string, number, string | null, 0 | 1, 0 | 1];

/** State of an upgrade attempt that was written to the ledger and not yet sent. */
const intended = 0;

/** Finds the upgrade attempt in the ledgers that a request to upgrade carries out. */
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

/** Placeholder for the collectors in a ledger object that is missing in the API server, although the ledger names it. */
export const missingMember = 'missing shard';
