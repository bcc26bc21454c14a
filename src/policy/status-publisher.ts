/**
 * When a policy's status is written: at once where conditions, target or rollout changed, at most once in a while where only
 * figures did, and not at all where nothing did or only the estimated end moved a little, since every write is an event for
 * everybody who watches.
 */
import { findCondition } from '../api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import { describeConditions, type Essentials, echoOfRequest, isoTime, stateWord } from './describe.ts';
import type { Figures } from './describe-figures.ts';
import type { Health } from './health.ts';
import type { PolicySettings } from './settings.ts';

export interface StatusPublisherOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly settings: PolicySettings;
  readonly owner: OwnerRef;
  /** Whether this is the end: figures that are held back now are never written. */
  readonly draining: () => boolean;
}

interface Written {
  readonly status: CollectorVersionPolicyStatus;
  /** Of the resource: the one that it was written over, and the one that came of it. */
  readonly versions: readonly string[];
}

/** The end of a rollout is an estimate: it is no news while it moves by less than this, or by less than this share of what is left. */
const leastShiftMs = 60_000;
const leastShiftShare = 0.1;

export class StatusPublisher {
  readonly #options: StatusPublisherOptions;
  #written: Written | undefined;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #heldBack = false;

  constructor(options: StatusPublisherOptions) {
    this.#options = options;
  }

  /** Whether there are figures that wait to be written. */
  get heldBack(): boolean {
    return this.#heldBack;
  }

  /** The policy with the newest status that is known. */
  latest(policy: CollectorVersionPolicy): CollectorVersionPolicy {
    const status = this.#known(policy);
    return status === policy.status || !status ? policy : { ...policy, status };
  }

  /** Writes the status where it is due. Returns after how many ms to look again; Infinity where nothing is held back. */
  async publish(
    policy: CollectorVersionPolicy,
    essentials: Essentials,
    figures: () => Partial<Figures> & Pick<Essentials, 'rollout'>,
    health: Health,
  ): Promise<number> {
    const { clock, settings, draining } = this.#options;
    const before = this.#known(policy);
    const waitMs = this.#writtenAtMs + settings.statusIntervalMs - clock.monotonic();
    this.#heldBack = waitMs > 0 && !draining() && sameValue(verdicts(before ?? {}), verdicts(essentials));
    if (this.#heldBack) return waitMs;
    const status = { ...essentials, ...figures() };
    if (!before || this.#differs(before, status)) await this.#write(policy, status, before, health);
    return Number.POSITIVE_INFINITY;
  }

  /** Writes the verdict on health alone, and leaves the figures as they were. */
  async publishHealth(
    policy: CollectorVersionPolicy,
    health: Health,
    targetVersion: string | undefined,
  ): Promise<number> {
    const before = this.#known(policy);
    const { generation } = policy.metadata;
    const now = isoTime(this.#options.clock.now());
    const essentials: Essentials = {
      ...before,
      observedGeneration: generation,
      ...echoOfRequest(policy),
      ...(targetVersion === undefined ? {} : { targetVersion }),
      conditions: describeConditions(before?.conditions, health, undefined, generation, now),
    };
    return this.publish(
      policy,
      essentials,
      () => ({ summary: { ...before?.summary, state: stateWord(health) } }),
      health,
    );
  }

  /** What we wrote last, where the cache may not have followed yet; but what somebody else has made of it since, as a restore. */
  #known({ metadata, status }: CollectorVersionPolicy): CollectorVersionPolicyStatus | undefined {
    return this.#written?.versions.includes(metadata.resourceVersion) ? this.#written.status : status;
  }

  #differs(before: CollectorVersionPolicyStatus, status: CollectorVersionPolicyStatus): boolean {
    const [was, is] = [endOf(before), endOf(status)];
    if (was === undefined || is === undefined) return !sameValue(before, status);
    const leftMs = is - this.#options.clock.now();
    const estimatedCompletionTime = before.rollout?.estimatedCompletionTime;
    const rest = { ...status, rollout: { ...status.rollout, estimatedCompletionTime } };
    return Math.abs(is - was) > Math.max(leastShiftMs, leftMs * leastShiftShare) || !sameValue(before, rest);
  }

  async #write(
    policy: CollectorVersionPolicy,
    status: CollectorVersionPolicyStatus,
    before: CollectorVersionPolicyStatus | undefined,
    health: Health,
  ): Promise<void> {
    const { host, clock, owner } = this.#options;
    let version: string;
    try {
      version = (await host.writeStatus('CollectorVersionPolicy', { ...policy, status })).metadata.resourceVersion;
    } catch (error) {
      // Somebody changed or deleted the resource meanwhile: the host will tell, and the next status is about that.
      if (error instanceof LogfleetError && (error.code === 'host.conflict' || error.code === 'host.gone')) return;
      // It may stand there all the same: the cache will tell.
      this.#written = undefined;
      throw error;
    }
    this.#written = { status, versions: [policy.metadata.resourceVersion, version] };
    this.#writtenAtMs = clock.monotonic();
    const was = findCondition(before?.conditions, 'Ready');
    if (was?.reason !== health.reason || was.status !== health.ready) {
      const type = health.stalled ? 'Warning' : 'Normal';
      host.events.publish(owner, { type, reason: health.reason, message: health.message });
    }
  }
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
