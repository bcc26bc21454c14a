/** Checks that no upgrade starts while a rollout is paused, aborted or stopped (U1, U2, R6). */
import { annotations } from '../../src/api/annotations.ts';
import type { HistoryRecord, Intent, PostRecord, StatusRecord } from './record.ts';
import {
  formerRollout,
  type ObservedRollout,
  type RolloutKey,
  retriesOf,
  rolloutsOf,
  wasApproved,
} from './rollouts.ts';
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
  if (intent.isRollback) return undefined;
  if (intent.stop !== undefined) return `U2: the ledger says that the rollout is stopped (${intent.stop})`;
  return wasShownAsStopped(record, intent, post.atMs) ? 'U1: the status showed that the rollout is stopped' : undefined;
}

/** Reports whether the process knew that a user had aborted the rollout. */
function isKnownAsAborted({ known }: PostRecord, { policy, rolloutId }: Intent): boolean {
  const set = known.find(({ metadata }) => metadata.uid === policy)?.metadata.annotations;
  const isOfRollout = (value: string | undefined) => value?.startsWith(`${rolloutId}/`) ?? false;
  return isOfRollout(set?.[annotations.abort]) && !isOfRollout(set?.[annotations.retry]);
}

/** Reports whether the kill switch has been set long enough for the process to notice it. */
function isPausedForLong({ plan, settingsChanges, disturbances }: HistoryRecord, { atMs }: PostRecord): boolean {
  if (plan.apiFaults.watches > 0 || plan.apiFaults.requests > 0) return false;
  const last = settingsChanges.findLast((change) => change.atMs < atMs);
  if (!last?.paused || atMs < last.atMs + heardWithinMs) return false;
  return !disturbances.some(({ what, ...one }) => what.startsWith('thaw') && one.atMs > atMs - heardWithinMs);
}

const heardWithinMs = 1_000;

/** Maximum time in ms until the status shows that a rollout has stopped. */
const unheardMs = 40_000;

/** Reports whether the status showed the rollout as stopped, and no user had resumed it. */
function wasShownAsStopped(record: HistoryRecord, rollout: RolloutKey, atMs: number): boolean {
  const shown = record.statuses.filter((status) => stopTimeOf(status, rollout) !== undefined && status.atMs < atMs);
  const last = shown.at(-1);
  if (!last) return false;
  const { stage, reason } = last.status.rollout?.stopped ?? {};
  // If a user approves a stage that stopped as inconclusive, the rollout resumes.
  if (stage !== undefined && reason === 'StageInconclusive' && wasApproved(record, rollout, stage, atMs)) return false;
  const first = shown.find((one) => stopTimeOf(one, rollout) === stopTimeOf(last, rollout)) ?? last;
  return retriesOf(record, rollout).every((retryMs) => retryMs <= first.atMs - unheardMs);
}

function stopTimeOf({ uid, status }: StatusRecord, { policy, rolloutId }: RolloutKey): string | undefined {
  return uid === policy && status.rollout?.id === rolloutId ? status.rollout.stopped?.time : undefined;
}

/**
 * Returns a violation if an upgrade was started although the previous rollout to the same target had been stopped (R6).
 */
function stoppedBefore(record: HistoryRecord, rollouts: readonly ObservedRollout[], { intent, atMs }: PostRecord) {
  if (!intent || intent.isRollback || record.plan.actions.some(({ kind }) => kind === 'restore')) return undefined;
  if (retriesOf(record, intent).some((retryMs) => retryMs <= atMs)) return undefined;
  const isStopped = formerRollout(rollouts, intent)?.writes.at(-1)?.stop !== undefined && wasAway(record, intent);
  return isStopped ? 'R6: the last rollout to this target was stopped' : undefined;
}

/** Reports whether the policy ever had another target. */
function wasAway({ plan, policyChanges }: HistoryRecord, { policy, target }: Intent): boolean {
  return policyChanges.some(
    (change) => change.policy.metadata.uid === policy && targetOf(plan, change.policy) !== target,
  );
}
