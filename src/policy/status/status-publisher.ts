/**
 * Decides when the status of a policy is written. The number of writes is limited, because each write triggers an event
 * for every watcher:
 * - A change to the conditions, target or rollout is written immediately.
 * - Writes that only change counts have a minimum interval.
 * - A small change to the estimated end is not written.
 */
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicyStatus, Rollout } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock } from '../../base/clock.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { Health } from '../../controller/health.ts';
import { echoOfRequest } from '../../controller/status-text.ts';
import { StatusWriter, type StatusWriterOptions } from '../../controller/status-writer.ts';
import { describeVerdict, type Essentials } from './describe.ts';

/** Minimum change of a rollout's estimated end, in ms, that is written to the status. */
const minShiftMs = 60_000;
const minShiftShare = 0.1;

export class StatusPublisher extends StatusWriter<'CollectorVersionPolicy'> {
  readonly #clock: Clock;

  constructor(options: Omit<StatusWriterOptions<'CollectorVersionPolicy'>, 'rules'>) {
    super({ ...options, rules });
    this.#clock = options.clock;
  }

  /**
   * Confirms in the status that the operator has handled the user's request for a reconcile. Does not change any other
   * field.
   */
  publishEcho(policy: CollectorVersionPolicy): Promise<number> {
    const known = this.known(policy);
    const echo = echoOfRequest(policy);
    const { lastHandledReconcileAt: handled = known?.lastHandledReconcileAt } = echo;
    if (!this.heldBack && handled === known?.lastHandledReconcileAt) return Promise.resolve(Number.POSITIVE_INFINITY);
    const essentials = { ...known, ...echo };
    return this.publish(policy, essentials, () => ({}), undefined);
  }

  /**
   * Writes the policy's health to the status. Does not change counts, or the target version to which the counts belong
   * (H3). If the status has no counts, writes `wantedVersion` as the target version. Unless the rollout continues,
   * removes its estimated end and the reason why it is waiting.
   */
  publishHealth(policy: CollectorVersionPolicy, health: Health, wantedVersion: string | undefined): Promise<number> {
    const before = this.known(policy);
    const { generation } = policy.metadata;
    const now = isoSeconds(this.#clock.now());
    const { outageStartTime: _, targetVersion: countedVersion, rollout, ...rest } = before ?? {};
    const targetVersion = before?.summary?.updated === undefined ? wantedVersion : countedVersion;
    const essentials: Essentials = {
      ...rest,
      ...(rollout && { rollout: health.reconciling ? rollout : withoutForecast(rollout) }),
      observedGeneration: generation,
      ...echoOfRequest(policy),
      ...(targetVersion === undefined ? {} : { targetVersion }),
      ...describeVerdict(before, health, 'unread', generation, now),
    };
    return this.publish(policy, essentials, () => ({ summary: { ...before?.summary, state: health.reason } }), health);
  }
}

/** Returns the rollout without its estimated end, and without the reason why it is waiting. */
function withoutForecast({ estimatedCompletionTime: _, waitingFor: __, ...rollout }: Rollout): Rollout {
  return rollout;
}

function differs(before: CollectorVersionPolicyStatus, status: CollectorVersionPolicyStatus, wallMs: number): boolean {
  const [was, is] = [endOf(before), endOf(status)];
  if (was === undefined || is === undefined) return !sameValue(before, status);
  const leftMs = is - wallMs;
  const estimatedCompletionTime = before.rollout?.estimatedCompletionTime;
  const rest = { ...status, rollout: { ...status.rollout, estimatedCompletionTime } };
  return Math.abs(is - was) > Math.max(minShiftMs, leftMs * minShiftShare) || !sameValue(before, rest);
}

/**
 * Returns the fields of the status whose changes are written immediately. Leaves out messages, because they contain
 * counts, which change often.
 */
export function verdicts(status: Essentials): unknown {
  const { observedGeneration, noLedgerFor, lastHandledReconcileAt, targetVersion, rollout, history } = status;
  const { nextWindow, conditions } = status;
  const found = conditions?.map((condition) => {
    const { type, status, reason, observedGeneration } = condition;
    return { type, status, reason, observedGeneration };
  });
  const { id, stage, actions, stopped } = rollout ?? {};
  const begun = { id, stage, actions, stopped };
  return { observedGeneration, noLedgerFor, lastHandledReconcileAt, targetVersion, begun, history, nextWindow, found };
}

/**
 * Returns texts that distinguish two states with the same reason: the target, the rollout, its stop, and the stage that
 * needs an approval.
 */
function stateDetails(status: CollectorVersionPolicyStatus): readonly string[] {
  const { targetVersion, rollout } = status;
  return [targetVersion, rollout?.id, rollout?.stopped?.time, awaitingStage(status)].filter(
    (detail) => detail !== undefined,
  );
}

function awaitingStage({ stages }: CollectorVersionPolicyStatus): string | undefined {
  return stages?.find(({ state }) => state === 'AwaitingApproval')?.name;
}

/**
 * If a collector comes back online after a rollback, it is rolled back, too. The status then shows `RollingBack` again,
 * but this does not count as another stop of the rollout.
 */
const interruption = { reason: reasons.rollingBack, of: reasons.rolledBack };

const rules = { kind: 'CollectorVersionPolicy', verdicts, differs, stateDetails, interruption } as const;

/** Returns the estimated end of the rollout as wall-clock time in ms, or undefined if there is no estimate. */
function endOf({ rollout }: CollectorVersionPolicyStatus): number | undefined {
  const end = rollout?.estimatedCompletionTime;
  return end === undefined ? undefined : Date.parse(end);
}
