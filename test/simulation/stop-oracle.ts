/**
 * Checks (oracle) stopped rollouts (U1, U2, R6). After a pause, an abort, too many failures or an inconclusive stage, no upgrade
 * starts until a user continues the rollout. A rollout to a target whose last rollout was stopped starts as stopped.
 */
import { annotations } from '../../src/api/annotations.ts';
import type { HistoryRecord, Intent, PostRecord, StatusRecord } from './record.ts';
import { formerRollout, type Rollout, type RolloutKey, retriesOf, rolloutsOf, wasApproved } from './rollouts.ts';
import { targetOf } from './wanted.ts';

export function stopViolations(record: HistoryRecord): string[] {
  const rollouts = rolloutsOf(record);
  return record.posts.flatMap((post) => {
    const what = stoppedBy(record, post) ?? stoppedBefore(record, rollouts, post);
    return what === undefined
      ? []
      : [`${what}: ${post.process} posted ${post.collectorId} to ${post.toVersion} at ${post.atMs}`];
  });
}

function stoppedBy(record: HistoryRecord, post: PostRecord): string | undefined {
  if (post.knownAllPaused) return 'U2: the process knows that the kill switch is set';
  if (isPausedForLong(record, post)) return 'U2: the kill switch has been set for more than a second';
  const { intent } = post;
  if (!intent) return undefined;
  if (isKnownAsAborted(post, intent)) return 'R9: the process knows that a person aborted the rollout';
  if (intent.back) return undefined;
  if (intent.stop !== undefined) return `U2: the ledger says that the rollout is stopped (${intent.stop})`;
  return wasShownAsStopped(record, intent, post.atMs) ? 'U1: status showed the rollout as stopped' : undefined;
}

/**
 * Whether the process knew that a user aborted the rollout. No history has an abort and a retry of the same rollout at the same
 * time.
 */
function isKnownAsAborted({ known }: PostRecord, { policy, rolloutId }: Intent): boolean {
  const set = known.find(({ metadata }) => metadata.uid === policy)?.metadata.annotations;
  const isOfRollout = (value: string | undefined) => value?.startsWith(`${rolloutId}/`) ?? false;
  return isOfRollout(set?.[annotations.abort]) && !isOfRollout(set?.[annotations.retry]);
}

/** Whether the kill switch has been set for so long that the process must know about it. False if a fault may have hidden it. */
function isPausedForLong({ plan, settingsChanges, disturbances }: HistoryRecord, { atMs }: PostRecord): boolean {
  if (plan.apiFaults.watches > 0 || plan.apiFaults.requests > 0) return false;
  const last = settingsChanges.findLast((change) => change.atMs < atMs);
  if (!last?.paused || atMs < last.atMs + heardWithinMs) return false;
  return !disturbances.some(({ what, ...one }) => what.startsWith('thaw') && one.atMs > atMs - heardWithinMs);
}

const heardWithinMs = 1_000;

/** Time in ms before the status shows a stop. A retry by a user within this time may already belong to the stop. */
const unheardMs = 40_000;

/** Whether the status showed the rollout as stopped, and no user continued the rollout since then. */
function wasShownAsStopped(record: HistoryRecord, rollout: RolloutKey, atMs: number): boolean {
  const shown = record.statuses.filter((status) => stopTimeOf(status, rollout) !== undefined && status.atMs < atMs);
  const last = shown.at(-1);
  if (!last) return false;
  const { stage, reason } = last.status.rollout?.stopped ?? {};
  // A user's approval continues a rollout that stopped at an inconclusive stage.
  if (stage !== undefined && reason === 'StageInconclusive' && wasApproved(record, rollout, stage, atMs)) return false;
  const first = shown.find((one) => stopTimeOf(one, rollout) === stopTimeOf(last, rollout)) ?? last;
  return retriesOf(record, rollout).every((retryMs) => retryMs <= first.atMs - unheardMs);
}

function stopTimeOf({ uid, status }: StatusRecord, { policy, rolloutId }: RolloutKey): string | undefined {
  return uid === policy && status.rollout?.id === rolloutId ? status.rollout.stopped?.time : undefined;
}

/** Finds upgrades that start although their target was set again after its rollout was stopped (R6). */
function stoppedBefore(record: HistoryRecord, rollouts: readonly Rollout[], { intent, atMs }: PostRecord) {
  if (!intent || intent.back || record.plan.actions.some(({ kind }) => kind === 'restore')) return undefined;
  if (retriesOf(record, intent).some((retryMs) => retryMs <= atMs)) return undefined;
  const isStopped = formerRollout(rollouts, intent)?.writes.at(-1)?.stop !== undefined && wasAway(record, intent);
  return isStopped ? 'R6: the last rollout to this target was stopped' : undefined;
}

/**
 * Whether the spec had another target before this rollout. Otherwise, this rollout began because the ledger of the rollout before
 * it was lost.
 */
function wasAway({ plan, policyChanges }: HistoryRecord, { policy, target }: Intent): boolean {
  return policyChanges.some(
    (change) => change.policy.metadata.uid === policy && targetOf(plan, change.policy) !== target,
  );
}
