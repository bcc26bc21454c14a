/**
 * Applies the decision about a policy: stores the ledger, requests upgrades (POST), starts reads, and writes the
 * status. An upgrade is requested only after the upgrade attempt has been stored in the ledger (U2).
 */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { LogfleetError } from '../base/errors.ts';
import { holdMs, isRefusal, retryDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import type { Health } from '../controller/health.ts';
import { pauseOf } from '../controller/pauses.ts';
import type { Result } from '../controller/reconciler.ts';
import { requeue } from '../controller/reconciler.ts';
import { typicalAfter } from './attempts/upgrade-duration.ts';
import type { Decision } from './decide.ts';
import type { Ready, Unready } from './gather.ts';
import type { PolicyRuntime } from './policy-runtime.ts';
import type { NextBuild } from './rollout/target.ts';
import { healthOf } from './status/policy-health.ts';
import { rolloutStarted, stageEvents } from './status/rollout-events.ts';
import { staysUntilClaimed, stillHolds } from './status/shown-verdict.ts';

export async function applyDecision(
  runtime: PolicyRuntime,
  policy: CollectorVersionPolicy,
  gathered: Ready,
  decision: Decision,
): Promise<Result> {
  const { policyLedger, posting, tasks, owner, publisher, binding, environment } = runtime;
  const { host, turns } = environment;
  const { bound, began, nextBuild, received, input } = gathered;
  const { header: before } = input.ledger;
  const hasChanged = began || decision.changes.length > 0 || decision.header !== before;
  if (!decision.needsLedger) policyLedger.note(decision.header);
  else if (hasChanged || !policyLedger.isWritten) await write(runtime, gathered, decision);
  posting.acknowledge(received.posted);
  tasks.acknowledge(received.tasks);
  for (const sample of decision.durations) runtime.typicalMs = typicalAfter(runtime.typicalMs, sample);
  const { generation } = policy.metadata;
  const moreWait = decision.post.length >= input.observation.batchCapacity;
  posting.post(bound.account.service, {
    entries: decision.post,
    generation,
    decidedAtMs: input.now.monotonicMs,
    moreWait,
  });
  // If no collector needs an upgrade, the Event `AllUpdated` is published instead of an Event about the start of the
  // rollout.
  if (began && decision.health.reason !== reasons.allUpdated) host.events.publish(owner, rolloutStarted(before));
  for (const event of stageEvents(before, decision.header)) host.events.publish(owner, event);
  for (const kind of ['posts', 'reads'] as const) if (!decision.needs[kind]) binding.unneeded(kind);
  read(runtime, gathered, decision);
  const { essentials, figures, health, requeueAfterMs, finished } = decision;
  const keepsShown = gathered.awaitsClaims && !began && staysUntilClaimed(policy, health, essentials.targetVersion);
  // A policy that has nothing to do, and whose status is correct, does not wait for other policies.
  const confirmedMs =
    keepsShown && decision.isIdle && figures ? publisher.confirm(policy, essentials, figures) : undefined;
  if (confirmedMs === undefined) {
    if (keepsShown || (gathered.awaitsClaims && !decision.isIdle)) turns.wait(owner, bound.account.serviceId);
    if (keepsShown) return requeue(requeueAfterMs, false);
  }
  const statusDelayMs = confirmedMs ?? (await publisher.publish(policy, essentials, () => figures, health));
  // `logfleet run DIR` ends only after all delayed status writes, so that every status shows the final counts.
  const delayMs = Math.min(requeueAfterMs, statusDelayMs, binding.heldForMs(), untilMs(runtime, nextBuild));
  return requeue(delayMs, finished && statusDelayMs === Infinity);
}

/**
 * Writes the policy's health to the status while the policy's collectors are not known yet. Does not change the counts
 * in the status.
 */
export async function reportUnready(
  runtime: PolicyRuntime,
  given: CollectorVersionPolicy,
  unready: Unready,
): Promise<Result> {
  const { problem, notOffered, tooYoung, soFar } = unready;
  const { binding, publisher, environment } = runtime;
  const policy = publisher.latest(given);
  const targetVersion = policy.spec.target.version;
  const found = healthOf({
    problem,
    notOffered,
    targetVersion,
    spec: policy.spec,
    upgradesBlocked: environment.host.settings().upgradesBlocked,
    pausedBy: pauseOf(policy, environment.host),
  });
  const waits = tooYoung !== undefined && found.reason === reasons.progressing;
  const health = waits ? { ...found, reason: reasons.waitingForBuildAge, message: tooYoung.message } : found;
  // If the conditions in the status are still correct, the status is written only to confirm a reconcile that a user
  // has requested.
  if (soFar && stillHolds(policy, health, soFar)) return requeue(await publisher.publishEcho(policy), false);
  const statusDelayMs = await publisher.publishHealth(policy, health, targetVersion);
  const recheckDelayMs = Math.min(recheckMs(health, problem), holdMs(problem, binding.heldForMs()));
  const delayMs = Math.min(statusDelayMs, recheckDelayMs, untilMs(runtime, tooYoung?.nextBuild));
  // A build can take days to reach `minAge`, so `logfleet run DIR` may end while the policy is waiting. A later run
  // continues the wait.
  return requeue(waits ? Math.min(delayMs, stallRetryMs) : delayMs, waits || !health.reconciling);
}

/**
 * Returns the time in ms until the next build is old enough (`minAge`) to become the target. Returns Infinity if there
 * is no next build.
 */
function untilMs({ environment }: PolicyRuntime, nextBuild: NextBuild | undefined): number {
  return nextBuild ? nextBuild.atMs - environment.clock.now() : Infinity;
}

async function write(runtime: PolicyRuntime, { bound: { ownership } }: Ready, decision: Decision): Promise<void> {
  const { changes, post } = decision;
  const { policyLedger, memberIndex, posting, tasks, owner, environment } = runtime;
  const before = changes.map(({ collectorId }) => policyLedger.known?.entry(collectorId));
  try {
    await policyLedger.write(decision, ownership);
  } catch (error) {
    // After a failed write, the stored ledger might lack these attempts, so their upgrades must not be requested.
    posting.withdraw(post);
    throw error;
  }
  for (const [index, { collectorId, entry }] of changes.entries()) {
    environment.attempts.changed(before[index], entry);
    if (!entry?.open) {
      ownership.ended(collectorId, owner.uid, environment.clock.monotonic());
      tasks.forget(collectorId);
    }
    memberIndex.update(collectorId);
  }
  ownership.announce();
}

function read(
  runtime: PolicyRuntime,
  { bound: { account, listing } }: Ready,
  { watch, isIdle, analysis }: Decision,
): void {
  const { binding, policyLedger, messages, owner } = runtime;
  listing.setNeeds(owner.uid, { share: watch.sweepShare, isIdle });
  if (isIdle) runtime.freeMemory();
  for (const [page, sentAfterMs] of watch.pages) listing.requestPage(page, sentAfterMs);
  if (watch.sweepAfterMs !== undefined) listing.requestSweep(watch.sweepAfterMs);
  messages.count(account.searches, analysis);
  // This line must follow the call of `freeMemory`, which can replace `runtime.tasks`.
  const { tasks } = runtime;
  for (const id of watch.tasks.slice(0, binding.capacityFor('reads', tasks.inFlight))) {
    const taskId = policyLedger.known?.entry(id)?.open?.taskId;
    if (taskId !== undefined) tasks.read(account.service, id, taskId);
  }
}

/**
 * Returns the time in ms until the operator evaluates the policy again, unless an event triggers an earlier evaluation.
 */
function recheckMs(health: Health, problem: LogfleetError | undefined): number {
  if (problem?.handling.kind === 'retryAfter') return retryDelayMs(problem, 0);
  // No timer is needed, because another event triggers the next evaluation: a change to the Secret (C2), or a retry of
  // the request that the service refused.
  if (problem?.code.startsWith('secret.') || isRefusal(problem)) return Infinity;
  return health.stalled || problem ? stallRetryMs : Infinity;
}
