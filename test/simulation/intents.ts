/** Whose attempt a request is, by the ledgers as they stand in the API server: nothing is posted that was not written ahead (U2). */
import type { Intent } from './record.ts';

/** As far as it is read here: places in the lines of a ledger's head. */
interface Head {
  readonly header: {
    readonly rolloutId: string;
    readonly target: string;
    /** Absent while the rollout goes on. */
    readonly completedAtMs?: number;
    readonly completions?: number;
    readonly stop?: { readonly kind: 'failures' | 'rollback' | 'abort' };
    readonly stages?: readonly { readonly name: string; readonly endedAtMs?: number }[];
  };
  readonly open: readonly (readonly [Line, Attempt])[];
}
type Rest = readonly [number, (string | null)?, (0 | 1)?, (readonly [number, string | null, number])?];
type Line = readonly [string, unknown, unknown, unknown, unknown?, Rest?];
type Attempt = readonly [number, string, number, string | null, 0 | 1, 0 | 1, ...unknown[]];

/** Written ahead, and not known to have left. */
const intended = 0;

/** @param heads of ledgers, by the uids of their policies */
export function intentOf(
  heads: ReadonlyMap<string, string>,
  collectorId: string,
  toVersion: string,
): Intent | undefined {
  for (const [policy, text] of heads) {
    const { header, open } = JSON.parse(text) as Head;
    const found = open.find(
      ([[id], [, version, state]]) => id === collectorId && version === toVersion && state === intended,
    );
    if (!found) continue;
    const [, stage, back, late] = found[0][5] ?? [];
    const [, attempt] = found;
    const ended = (header.stages ?? []).flatMap(({ name, endedAtMs }) =>
      endedAtMs === undefined ? [] : [[name, endedAtMs] as const],
    );
    return {
      policy,
      rolloutId: header.rolloutId,
      target: header.target,
      stage: stage ?? undefined,
      probe: attempt[5] === 1,
      back: back === 1,
      stop: header.stop?.kind,
      isComplete: header.completedAtMs !== undefined,
      completions: header.completions ?? 0,
      lateTo: late?.[1] ?? undefined,
      stagesEndedMs: new Map(ended),
    };
  }
  return undefined;
}
