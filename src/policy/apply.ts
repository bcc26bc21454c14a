/**
 * Applies what `decide` decided, in this order: the ledger is written, then POSTs and reads are set off, then the status is written
 * where it is due. A POST is never sent before its attempt is durable (U2).
 */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { stallRetryMs } from '../base/retry-delay.ts';
import type { Health } from '../controller/health.ts';
import { pausedByOf, pausedForAll, policiesHoldOf } from '../controller/pauses.ts';
import type { Result } from '../controller/reconciler.ts';
import { requeue } from '../controller/requeue.ts';
import type { Decision } from './decide.ts';
import type { Ready, Unready } from './gather.ts';
import { healthOf } from './health.ts';
import { recheckMs } from './next-look.ts';
import type { RuntimeParts } from './policy-runtime.ts';
import { rolloutStarted, stageEvents } from './rollout.ts';
import { staysUntilClaimed, stillHolds } from './shown-verdict.ts';
import type { Heir } from './target.ts';

export class Applier {
  readonly #parts: RuntimeParts;
  #isOutdated = false;

  constructor(parts: RuntimeParts) {
    this.#parts = parts;
  }

  /** Whether the last decision left the status to the next one (H3). */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  async apply(policy: CollectorVersionPolicy, gathered: Ready, decision: Decision): Promise<Result> {
    this.#isOutdated = false;
    const { posting, tasks, duration, host, owner, publisher, binding, turns } = this.#parts;
    const { bound, ledger, began, heir, heard, input } = gathered;
    const before = ledger.header;
    if (began || decision.changes.length > 0 || decision.header !== before) {
      await this.#write(gathered, decision);
    }
    posting.acknowledge(heard.posted);
    tasks.acknowledge(heard.tasks);
    for (const look of decision.looks) duration.learn(look);
    const { generation } = policy.metadata;
    const moreWait = decision.post.length >= input.observation.room;
    posting.post(bound.account.service, {
      entries: decision.post,
      generation,
      decidedAtMs: input.now.monotonicMs,
      moreWait,
    });
    // A rollout that has nothing to do is told by the transition to `AllUpdated` alone.
    if (began && decision.health.reason !== reasons.allUpdated) host.events.publish(owner, rolloutStarted(before));
    for (const event of stageEvents(before, decision.header)) host.events.publish(owner, event);
    this.#read(gathered, decision);
    const { essentials, figures, health, requeueAfterMs, settled } = decision;
    const isUntold = gathered.awaitsClaims && !began && staysUntilClaimed(policy, health, essentials.targetVersion);
    if (isUntold || (gathered.awaitsClaims && !decision.isAtRest)) turns.wait(owner, bound.account.serviceId);
    if (isUntold) return requeue(requeueAfterMs, false);
    // The next decision counts anew, and has nothing to write that could make it outdated, too.
    this.#isOutdated = !decision.isCurrent();
    if (this.#isOutdated) return requeue(0, false);
    const statusDelayMs = await publisher.publish(policy, essentials, figures, health);
    // A run that ends leaves its last figures behind.
    const delayMs = Math.min(requeueAfterMs, statusDelayMs, binding.heldForMs(), this.#untilMs(heir));
    return requeue(delayMs, settled && statusDelayMs === Number.POSITIVE_INFINITY);
  }

  /** A status without figures: the fleet is not known, or cannot be reached. What was known before stays. */
  async report(given: CollectorVersionPolicy, unready: Unready): Promise<Result> {
    this.#isOutdated = false;
    const { problem, notOffered, tooYoung, soFar } = unready;
    const policy = this.#parts.publisher.latest(given);
    const targetVersion = policy.spec.target.version;
    const found = healthOf({
      problem,
      notOffered,
      targetVersion,
      spec: policy.spec,
      policiesHold: policiesHoldOf(this.#parts.host),
      pausedBy: pausedForAll(this.#parts.host) ?? pausedByOf(policy),
      fleet: undefined,
      ledgerFull: false,
      badCalendar: undefined,
      wait: undefined,
      course: undefined,
    });
    const waits = tooYoung !== undefined && found.reason === reasons.progressing;
    const health = waits ? waitingForAge(tooYoung.message) : found;
    if (soFar && stillHolds(policy, health, soFar)) return this.#keep(policy);
    const statusDelayMs = await this.#parts.publisher.publishHealth(policy, health, targetVersion);
    const delayMs = Math.min(statusDelayMs, recheckMs(health, problem), this.#untilMs(tooYoung?.heir));
    // Builds age for days: a run that ends comes back to it.
    return requeue(waits ? Math.min(delayMs, stallRetryMs) : delayMs, waits || !health.reconciling);
  }

  /** Nothing is told but that a request of a person was heard. The first sweep of the fleet calls again. */
  async #keep(policy: CollectorVersionPolicy): Promise<Result> {
    const statusDelayMs = await this.#parts.publisher.publishEcho(policy);
    return requeue(statusDelayMs, false);
  }

  /** How long until a build is old enough; Infinity where none has to be. */
  #untilMs(heir: Heir | undefined): number {
    return heir ? heir.atMs - this.#parts.clock.now() : Number.POSITIVE_INFINITY;
  }

  async #write({ bound: { ownership }, roster }: Ready, { header, changes, post }: Decision): Promise<void> {
    const { kept, posting, tasks, owner, clock } = this.#parts;
    try {
      await kept.write(header, changes, ownership);
    } catch (error) {
      // Whether they were written is not known; that they were not sent is.
      posting.withdraw(post);
      throw error;
    }
    for (const { collectorId, entry } of changes) {
      if (!entry?.open) {
        ownership.ended(collectorId, owner.uid, clock.monotonic());
        tasks.forget(collectorId);
      }
      roster.place(collectorId);
    }
    ownership.announce();
  }

  #read({ bound: { account, listing }, ledger }: Ready, { watch, isAtRest }: Decision): void {
    listing.rest(this.#parts.owner.uid, { share: watch.sweepShare, isAtRest });
    for (const [page, sentAfterMs] of watch.pages) listing.requestPage(page, sentAfterMs);
    if (watch.sweepAfterMs !== undefined) listing.requestSweep(watch.sweepAfterMs);
    for (const id of watch.tasks) {
      const taskId = ledger.entry(id)?.open?.taskId;
      if (taskId !== undefined) this.#parts.tasks.read(account.service, id, taskId);
    }
  }
}

/** Nothing else is worth a word: there is no target yet, and there will be one. */
function waitingForAge(message: string): Health {
  return { ready: 'False', reason: reasons.waitingForBuildAge, message, reconciling: true, stalled: false };
}
