/** Oracle for stops: what was stopped stays stopped, by the kill switch, a pause, an abort or the failure policy (U1, U2). */
import { annotations } from '../../src/api/annotations.ts';
import type { HistoryRecord, Intent, PostRecord, StatusRecord } from './record.ts';

export function stopViolations(record: HistoryRecord): string[] {
  const found: string[] = [];
  for (const post of record.posts) {
    const what = stoppedBy(record, post);
    if (what !== undefined)
      found.push(`${what}: ${post.process} posted ${post.collectorId} to ${post.toVersion} at ${post.atMs}`);
  }
  return found;
}

function stoppedBy(record: HistoryRecord, post: PostRecord): string | undefined {
  if (post.knownAllPaused) return 'U2: everything is paused, as its process knows';
  if (isPausedForLong(record, post)) return 'U2: everything has been paused for longer than a second';
  const { intent } = post;
  if (intent && isKnownAsAborted(post, intent)) return 'R9: a person has aborted its rollout, as its process knows';
  if (!intent || intent.back) return undefined;
  if (intent.stop !== undefined) return `U2: its rollout was stopped (${intent.stop}), as the ledger says`;
  return wasShownAsStopped(record, post) ? 'U1: its rollout was shown as stopped, and nobody had it go on' : undefined;
}

/** Nobody has asked for both. */
function isKnownAsAborted({ known }: PostRecord, { policy, rolloutId }: Intent): boolean {
  const asked = known.find(({ metadata }) => metadata.uid === policy)?.metadata.annotations;
  const isOfIt = (value: string | undefined) => value?.startsWith(`${rolloutId}/`) ?? false;
  return isOfIt(asked?.[annotations.abort]) && !isOfIt(asked?.[annotations.retry]);
}

/** Where nothing keeps a process from hearing of it. */
function isPausedForLong({ plan, settingsChanges, disturbances }: HistoryRecord, { atMs }: PostRecord): boolean {
  if (plan.apiFaults.watches > 0 || plan.apiFaults.requests > 0) return false;
  const last = settingsChanges.findLast((change) => change.atMs < atMs);
  if (!last?.paused || atMs < last.atMs + heardWithinMs) return false;
  return !disturbances.some(({ what, ...one }) => what.startsWith('thaw') && one.atMs > atMs - heardWithinMs);
}

const heardWithinMs = 1_000;

function wasShownAsStopped({ statuses, policyChanges }: HistoryRecord, { intent, atMs }: PostRecord): boolean {
  const shown = statuses.findLast((status) => isStopOf(status, intent) && status.atMs < atMs);
  if (!shown) return false;
  // One that has yet to read its ledger repeats what was shown before.
  const since = shown.status.rollout?.stopped?.time;
  const first = statuses.find((one) => isStopOf(one, intent) && one.status.rollout?.stopped?.time === since) ?? shown;
  const own = policyChanges.filter(({ policy }) => policy.metadata.uid === intent?.policy);
  return !own.some((change, index) => {
    const value = change.policy.metadata.annotations[annotations.retry];
    const isNew = value !== own[index - 1]?.policy.metadata.annotations[annotations.retry];
    return isNew && value?.startsWith(`${intent?.rolloutId}/`) && change.atMs > first.atMs - unheardMs;
  });
}

function isStopOf({ uid, status }: StatusRecord, intent: Intent | undefined): boolean {
  if (uid !== intent?.policy || status.rollout?.id !== intent.rolloutId) return false;
  return status.rollout.stopped !== undefined;
}

/** A person may have asked for it before the process that stopped it heard of that. */
const unheardMs = 40_000;
