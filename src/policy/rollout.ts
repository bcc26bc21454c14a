/** Rollouts as the ledger's header counts them: one for each target that a policy has had, in order. */
import type { CollectorVersionPolicyStatus } from '../api/generated/collector-version-policy.ts';
import type { LedgerHeader, RolloutHistory } from './ledger.ts';

const maxHistory = 10;

/** The ended rollouts with another one, newest first. */
export function withHistory(history: readonly RolloutHistory[], ended: RolloutHistory): readonly RolloutHistory[] {
  return [ended, ...history].slice(0, maxHistory);
}

/**
 * The header of the rollout that begins now.
 * @param before the ledger's header, if it has one for this service
 * @param status what people saw last: where the ledger was lost, rollouts are counted on from it, so that no id is used twice
 */
export function nextRollout(
  before: LedgerHeader | undefined,
  status: CollectorVersionPolicyStatus | undefined,
  service: string,
  target: string,
  wallMs: number,
): LedgerHeader {
  const number = (before?.rolloutNumber ?? newestNumber(status)) + 1;
  return {
    service,
    rolloutId: `${number}-${target}`,
    rolloutNumber: number,
    target,
    startedAtMs: wallMs,
    completedAtMs: undefined,
    attempts: before?.attempts ?? 0,
    history: before ? historyAfter(before, status, wallMs) : [],
  };
}

/** The event that tells people of it. */
export function rolloutStarted({ rolloutId, target }: LedgerHeader) {
  const message = `Rollout ${rolloutId} begins: bringing the selected collectors to ${target}.`;
  return { type: 'Normal', reason: 'RolloutStarted', message } as const;
}

function newestNumber(status: CollectorVersionPolicyStatus | undefined): number {
  const ids = [status?.rollout, ...(status?.history ?? [])].map((one) => Number.parseInt(one?.id ?? '', 10));
  return Math.max(0, ...ids.filter(Number.isSafeInteger));
}

function historyAfter(
  before: LedgerHeader,
  status: CollectorVersionPolicyStatus | undefined,
  wallMs: number,
): readonly RolloutHistory[] {
  if (before.completedAtMs !== undefined) return before.history;
  return withHistory(before.history, {
    id: before.rolloutId,
    targetVersion: before.target,
    startedAtMs: before.startedAtMs,
    endedAtMs: wallMs,
    outcome: 'Superseded',
    updated: status?.collectors?.updated ?? 0,
    failed: status?.collectors?.failed ?? 0,
  });
}
