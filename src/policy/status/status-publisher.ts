/**
 * Decides when the status of a policy is written, because each write is an event for all watchers of the resource:
 * - at once after a change of conditions, target or rollout;
 * - at limited intervals after a change of figures;
 * - not at all without a change, or when only the estimated end of the rollout changed a little.
 */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock } from '../../base/clock.ts';
import type { Health } from '../../controller/health.ts';
import { echoOfRequest, isoTime } from '../../controller/status-text.ts';
import { StatusWriter } from '../../controller/status-writer.ts';
import type { Host, OwnerRef } from '../../host/host.ts';
import type { PolicySettings } from '../settings.ts';
import { describeVerdictAlone, type Essentials } from './describe.ts';
import type { Figures } from './describe-figures.ts';

export interface StatusPublisherOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly settings: PolicySettings;
  readonly owner: OwnerRef;
  /**
   * Whether the process is about to end. Changed counts are then written at once, because they
   * would never be written otherwise.
   */
  readonly draining: () => boolean;
}

/**
 * Minimum change in ms of a rollout's estimated end that is written to status. The change must also exceed a ratio of the
 * remaining time (the next constant).
 */
const leastShiftMs = 60_000;
const leastShiftShare = 0.1;

export class StatusPublisher {
  readonly #clock: Clock;
  readonly #publisher: StatusWriter<'CollectorVersionPolicy'>;

  constructor({ settings, ...options }: StatusPublisherOptions) {
    this.#clock = options.clock;
    const rules = { kind: 'CollectorVersionPolicy', verdicts, differs } as const;
    this.#publisher = new StatusWriter({ ...options, rules, intervalMs: settings.statusIntervalMs });
  }

  /** Whether changed counts or estimates wait to be written to status. */
  get heldBack(): boolean {
    return this.#publisher.heldBack;
  }

  /** Policy with the newest status that this process knows. */
  latest(policy: CollectorVersionPolicy): CollectorVersionPolicy {
    return this.#publisher.latest(policy);
  }

  /**
   * Writes the status of the policy when a write is due. Returns the delay in ms until the next check; Infinity when no figures
   * are held back.
   */
  publish(
    policy: CollectorVersionPolicy,
    essentials: Essentials,
    figures: () => Partial<Figures> & Pick<Essentials, 'rollout'>,
    health: Health,
  ): Promise<number> {
    return this.#publisher.publish(policy, essentials, figures, health);
  }

  /**
   * Returns the delay in ms until the next check when the policy already shows this status, so that nothing is written; undefined
   * when it shows another status.
   */
  confirm(
    policy: CollectorVersionPolicy,
    essentials: Essentials,
    figures: () => Partial<Figures> & Pick<Essentials, 'rollout'>,
  ): number | undefined {
    return this.#publisher.confirm(policy, essentials, figures);
  }

  /** Confirms in status that a person's request was seen, unless status confirms it already. All other fields stay. */
  async publishEcho(policy: CollectorVersionPolicy): Promise<number> {
    const known = this.#publisher.known(policy);
    const echo = echoOfRequest(policy);
    const { lastHandledReconcileAt: handled = known?.lastHandledReconcileAt } = echo;
    if (!this.heldBack && handled === known?.lastHandledReconcileAt) return Number.POSITIVE_INFINITY;
    const essentials = { ...known, ...echo };
    return this.#publisher.publish(policy, essentials, () => ({}), undefined);
  }

  /**
   * Writes only the health verdict to the policy's status, and keeps the counts and estimates of
   * the previous status.
   */
  async publishHealth(
    policy: CollectorVersionPolicy,
    health: Health,
    targetVersion: string | undefined,
  ): Promise<number> {
    const before = this.#publisher.known(policy);
    const { generation } = policy.metadata;
    const now = isoTime(this.#clock.now());
    const { outageStartTime: _, ...rest } = before ?? {};
    const essentials: Essentials = {
      ...rest,
      observedGeneration: generation,
      ...echoOfRequest(policy),
      ...(targetVersion === undefined ? {} : { targetVersion }),
      ...describeVerdictAlone(before, health, generation, now),
    };
    return this.publish(policy, essentials, () => ({ summary: { ...before?.summary, state: health.reason } }), health);
  }
}

function differs(before: CollectorVersionPolicyStatus, status: CollectorVersionPolicyStatus, wallMs: number): boolean {
  const [was, is] = [endOf(before), endOf(status)];
  if (was === undefined || is === undefined) return !sameValue(before, status);
  const leftMs = is - wallMs;
  const estimatedCompletionTime = before.rollout?.estimatedCompletionTime;
  const rest = { ...status, rollout: { ...status.rollout, estimatedCompletionTime } };
  return Math.abs(is - was) > Math.max(leastShiftMs, leftMs * leastShiftShare) || !sameValue(before, rest);
}

/**
 * Fields of status whose change is written at once: all fields except counts, and messages that
 * repeat counts.
 */
function verdicts(status: Essentials): unknown {
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

/** Estimated end of the rollout in a status, as wall time in ms; undefined when there is no estimate. */
function endOf({ rollout }: CollectorVersionPolicyStatus): number | undefined {
  const end = rollout?.estimatedCompletionTime;
  return end === undefined ? undefined : Date.parse(end);
}
