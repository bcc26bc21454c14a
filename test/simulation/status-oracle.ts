/** Checks that a policy's status never shows wrong upgrades or counts (U4, U7, U10). */
import type { TaskState } from '../../simulator/snapshot.ts';
import { type HistoryRecord, type StatusRecord, versionLookMs } from './record.ts';
import { isUnsteady } from './rollouts.ts';
import { isPaused } from './wanted.ts';

export function statusViolations(record: HistoryRecord): string[] {
  const tasks = new Map(record.state.tasks.map((task) => [task.id, task]));
  const found: string[] = [];
  /**
   * Latest collector counts of each policy, with the target to which they refer. The status keeps the counts while the
   * operator cannot list the collectors.
   */
  const figures = new Map<string, { readonly text: string; readonly target: string | undefined }>();
  for (const status of record.statuses) {
    const text = JSON.stringify([status.status.collectors, status.status.versions]);
    const before = figures.get(status.uid);
    const target = before !== undefined && before.text === text ? before.target : status.status.targetVersion;
    figures.set(status.uid, { text, target });
    found.push(
      ...falseSuccesses(record, status, tasks),
      ...tooManyUpdated(record, status, target, tasks),
      ...versionsApart(status, target),
      ...messageApart(status),
      ...falseFailures(record, status),
    );
    if (found.length > 0) return found;
  }
  return found;
}

/** Checks that every upgrade counted as succeeded in the status actually succeeded. */
function falseSuccesses(
  record: HistoryRecord,
  { atMs, policy, status }: StatusRecord,
  tasks: ReadonlyMap<string, TaskState>,
): string[] {
  const found: string[] = [];
  for (const { id, collectorId, to, state } of status.tasks ?? []) {
    if (state !== 'Succeeded') continue;
    const task = id === undefined ? undefined : tasks.get(id);
    const reached = wasAt(record, collectorId, to, atMs);
    if (!reached && (task?.status !== 2 || task.collectorId !== collectorId)) {
      found.push(
        `U4: ${policy} shows at ${atMs} that ${collectorId} was upgraded to ${to}, but the collector never ran this version`,
      );
    }
  }
  return found;
}

function tooManyUpdated(
  record: HistoryRecord,
  { atMs, policy, status }: StatusRecord,
  target: string | undefined,
  tasks: ReadonlyMap<string, TaskState>,
): string[] {
  if (target === undefined || !status.collectors) return [];
  const left = knownToHaveLeft(record, target, atMs, tasks);
  let max = 0;
  for (const id of record.versions.keys()) if (wasAt(record, id, target, atMs) && !left.has(id)) max++;
  const { updated } = status.collectors;
  return updated > max
    ? [`U7: ${policy} shows at ${atMs} that ${updated} collectors run ${target}, but at most ${max} can run it`]
    : [];
}

/**
 * Returns the collectors that have left the target version, according to the upgrade task statuses that the operator
 * has read. The operator may lose this knowledge when a process ends.
 */
function knownToHaveLeft(
  { disturbances, startMs, taskNews, versions }: HistoryRecord,
  target: string,
  atMs: number,
  tasks: ReadonlyMap<string, TaskState>,
): ReadonlySet<string> {
  const left = new Set<string>();
  if (disturbances.some((one) => one.atMs <= atMs)) return left;
  for (const { taskId, outcome, atMs: seenMs } of taskNews) {
    const task = tasks.get(taskId);
    if (!task || task.toVersion === target || outcome !== 'succeeded' || seenMs + evaluationMs > atMs) continue;
    const leftMs = (reachedAtMs(task) ?? Number.POSITIVE_INFINITY) - startMs;
    const returned = versions.get(task.collectorId)?.filter((one) => one.version === target && one.sinceMs > leftMs);
    if (!returned?.some(({ sinceMs }) => sinceMs - versionLookMs <= atMs)) left.add(task.collectorId);
  }
  return left;
}

/** Maximum time in ms until the operator has evaluated the status of an upgrade task. */
const evaluationMs = 2_000;

/** Checks that the status does not count more collectors as updated than are running the target version. */
function versionsApart({ atMs, policy, status }: StatusRecord, target: string | undefined): string[] {
  const { collectors, versions = [] } = status;
  if (target === undefined || !collectors) return [];
  const atTarget = versions.find(({ version }) => version === target)?.count ?? 0;
  return collectors.updated > atTarget
    ? [
        `status: ${policy} shows at ${atMs}: ${collectors.updated} updated collectors, but ${atTarget} collectors with the version ${target}`,
      ]
    : [];
}

/** Checks that the message of the `Ready` condition agrees with the counts in the status (H3). */
function messageApart({ atMs, policy, status }: StatusRecord): string[] {
  const { collectors, conditions = [] } = status;
  const message = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
  const said = /^(\d+) of \d+ collectors run /.exec(message)?.[1];
  const running = /, (\d+) (?:is|are) being upgraded/.exec(message)?.[1];
  if (!collectors || said === undefined) return [];
  const isSame =
    Number(said) === collectors.updated && (running === undefined || Number(running) === collectors.inProgress);
  return isSame
    ? []
    : [
        `H3: ${policy} shows at ${atMs}: ${collectors.updated} updated collectors and ${collectors.inProgress} in progress, but this message: ${message}`,
      ];
}

/** Checks that each collector shown as failed had a failed task, or an upgrade attempt with an unknown outcome. */
function falseFailures(record: HistoryRecord, { atMs, policy, status }: StatusRecord): string[] {
  const { state, posts, disturbances, policyChanges } = record;
  const failed = status.collectors?.failed ?? 0;
  if (failed === 0) return [];
  // If the process is killed while the policy is paused, an upgrade can count as failed although its request was never
  // sent (U5).
  const wasPaused = policyChanges.some((change) => change.atMs < atMs && isPaused(change.policy));
  if (wasPaused && disturbances.some((one) => one.what.startsWith('kill') && one.atMs < atMs)) return [];
  // After a restore from an older backup, the operator may not know how an upgrade in an aborted rollout ended. The
  // upgrade then times out and counts as failed.
  const said = record.plan.actions.filter((action) => action.atMs < atMs).map(({ kind }) => kind);
  if (said.includes('abort') && said.includes('restore')) return [];
  const touched = new Set(state.collectors.filter(({ name }) => isUnsteady(record, name)).map(({ id }) => id));
  // If another tool changes a collector right after its upgrade, the status may count the upgrade as failed.
  const mayFail = (task: TaskState) => !task.foreign && (task.status !== 2 || touched.has(task.collectorId));
  // If a collector goes offline or changes its version during the soak, its upgrade counts as failed.
  const failing = new Set(state.tasks.filter(mayFail).map(({ collectorId }) => collectorId));
  for (const post of posts)
    if (post.atMs < atMs && post.response?.status !== 202 && post.response?.status !== 400)
      failing.add(post.collectorId);
  return failed > failing.size
    ? [
        `U10: ${policy} shows at ${atMs} that ${failed} collectors failed, but only ${failing.size} upgrades by logfleet failed`,
      ]
    : [];
}

function wasAt({ versions, state, startMs }: HistoryRecord, id: string, version: string, untilMs: number): boolean {
  if (versions.get(id)?.some((one) => one.version === version && one.sinceMs - versionLookMs <= untilMs)) return true;
  return state.tasks.some(
    (task) =>
      task.collectorId === id &&
      task.toVersion === version &&
      (reachedAtMs(task) ?? Number.POSITIVE_INFINITY) - startMs <= untilMs,
  );
}

/** Returns the time in ms at which the collector reached the version, or undefined if it never did. */
function reachedAtMs({ status, endTime, collectorEndTime }: TaskState): number | undefined {
  if (collectorEndTime === null || endTime === null) return undefined;
  const succeeded = status === 2 || status === undocumentedSuccess || collectorEndTime > endTime;
  return succeeded ? collectorEndTime : undefined;
}

/** Undocumented status code with which some successful upgrades end. */
export const undocumentedSuccess = 5;
