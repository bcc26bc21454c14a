/**
 * When a policy's status is written: at once where conditions, target or rollout changed, at most once in a while where only
 * figures did, and not at all where nothing did or only the estimated end moved a little, since every write is an event for
 * everybody who watches.
 */
import type { CollectorVersionPolicyStatus } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import type { Health } from '../controller/health.ts';
import { StatusPublisher as KindPublisher } from '../controller/status-publisher.ts';
import { echoOfRequest, isoTime } from '../controller/status-text.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { describeVerdictAlone, type Essentials, stateWord } from './describe.ts';
import type { Figures } from './describe-figures.ts';
import type { PolicySettings } from './settings.ts';

export interface StatusPublisherOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly settings: PolicySettings;
  readonly owner: OwnerRef;
  /** Whether this is the end: figures that are held back now are never written. */
  readonly draining: () => boolean;
}

/** The end of a rollout is an estimate: it is no news while it moves by less than this, or by less than this share of what is left. */
const leastShiftMs = 60_000;
const leastShiftShare = 0.1;

export class StatusPublisher {
  readonly #clock: Clock;
  readonly #publisher: KindPublisher<'CollectorVersionPolicy'>;

  constructor({ settings, ...options }: StatusPublisherOptions) {
    this.#clock = options.clock;
    const rules = { kind: 'CollectorVersionPolicy', verdicts, differs } as const;
    this.#publisher = new KindPublisher({ ...options, rules, intervalMs: settings.statusIntervalMs });
  }

  /** Whether there are figures that wait to be written. */
  get heldBack(): boolean {
    return this.#publisher.heldBack;
  }

  /** The policy with the newest status that is known. */
  latest(policy: CollectorVersionPolicy): CollectorVersionPolicy {
    return this.#publisher.latest(policy);
  }

  /** Writes the status where it is due. Returns after how many ms to look again; Infinity where nothing is held back. */
  publish(
    policy: CollectorVersionPolicy,
    essentials: Essentials,
    figures: () => Partial<Figures> & Pick<Essentials, 'rollout'>,
    health: Health,
  ): Promise<number> {
    return this.#publisher.publish(policy, essentials, figures, health);
  }

  /** Writes that a request of a person was heard, where that is news, and leaves all else as it was. */
  publishEcho(policy: CollectorVersionPolicy): Promise<number> {
    const essentials = { ...this.#publisher.known(policy), ...echoOfRequest(policy) };
    return this.#publisher.publish(policy, essentials, () => ({}), undefined);
  }

  /** Writes the verdict on health alone, and leaves the figures as they were. */
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
    return this.publish(
      policy,
      essentials,
      () => ({ summary: { ...before?.summary, state: stateWord(health) } }),
      health,
    );
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

/** What is written at once: everything but figures, and the words that only repeat them. */
function verdicts(status: Essentials): unknown {
  const { observedGeneration, lastHandledReconcileAt, targetVersion, rollout, history, nextWindow, conditions } =
    status;
  const found = conditions?.map((condition) => {
    const { type, status, reason, observedGeneration } = condition;
    return { type, status, reason, observedGeneration };
  });
  const { id, stage, actions, stopped } = rollout ?? {};
  const begun = { id, stage, actions, stopped };
  return { observedGeneration, lastHandledReconcileAt, targetVersion, begun, history, nextWindow, found };
}

/** When the rollout is expected to end; undefined where nobody can say. */
function endOf({ rollout }: CollectorVersionPolicyStatus): number | undefined {
  const end = rollout?.estimatedCompletionTime;
  return end === undefined ? undefined : Date.parse(end);
}
