/**
 * State machine of one upgrade attempt. Computes a collector's next ledger entry from new responses and listings.
 *
 *               ┌─ never sent ──────────────► (no trace is left)
 *   intended ───┼─ response 202 ──────────────► accepted ─── task status, listing, 35 min ──► ended
 *      ▲        ├─ upgrade already runs ────► adopted ──── listing, 35 min ───────────────► ended
 *      │        ├─ other refusal ───────────► ended (U11)
 *      │        └─ response lost, or 5xx ─────► unknown ──── listing at the target, 35 min ─► ended
 *      └──────────── repeated POST (probe, U3) ──┘
 */
import type { Instant } from '../../base/clock.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import type { UpgradeTask } from '../../service/collectors/upgrade-service.ts';
import type { Attempt, EndingKind, Entry } from '../ledger/ledger.ts';
import type { PolicySettings } from './settings.ts';

/** Response to the POST that requests an upgrade. */
export type PostOutcome =
  | { readonly kind: 'accepted'; readonly taskId: string }
  | { readonly kind: 'refused'; readonly serviceCode: string; readonly message: string }
  | { readonly kind: 'notSent' }
  | { readonly kind: 'unknown' };

/** Data about one collector that shows whether and how the collector's upgrade has ended. */
export interface Evidence {
  readonly row: Row | undefined;
  readonly posted: PostOutcome | undefined;
  /** Status of the upgrade task. Undefined if the task has not been read since the last decision. */
  readonly task: UpgradeTask | undefined;
  /** True if this process has an unsent or unanswered upgrade request for the collector. */
  readonly inFlight: boolean;
  /**
   * True if the service's list shows collectors that already run the version to which this collector is being upgraded
   * (U7).
   */
  readonly observable: boolean;
  /**
   * True if the service's list shows collectors that run the version that this collector had before the upgrade. In
   * this case, a collector that is missing from the list no longer exists.
   */
  readonly showsOrigin: boolean;
  /** Monotonic time in ms at which the newest complete read of the collector list began. */
  readonly sweptSinceMs: number | undefined;
}

/** Converts a wall-clock time to a monotonic time, both in ms. The result is inexact if the wall clock was adjusted. */
export function monotonicOf(wallMs: number, now: Instant): number;
export function monotonicOf(wallMs: number | undefined, now: Instant): number | undefined;
export function monotonicOf(wallMs: number | undefined, now: Instant): number | undefined {
  return wallMs === undefined ? undefined : now.monotonicMs + wallMs - now.wallMs;
}

interface Known {
  readonly entry: Entry;
  readonly open: Attempt;
  readonly evidence: Evidence;
  readonly now: Instant;
  readonly settings: PolicySettings;
}

/**
 * Returns the collector's next ledger entry. Returns the same object if nothing has changed, and undefined if the entry
 * can be deleted.
 */
export function evaluateEntry(
  entry: Entry,
  evidence: Evidence,
  now: Instant,
  settings: PolicySettings,
): Entry | undefined {
  const { open } = entry;
  if (!open) return entry;
  const known = { entry, open, evidence, now, settings };
  switch (open.state) {
    case 'intended':
      return afterPost(known);
    case 'accepted':
      return afterTask(known) ?? afterListing(known);
    case 'unknown':
    case 'adopted':
      return afterListing(known);
  }
}

/**
 * Reports whether an upgrade request with an unknown outcome may be repeated. A later listing must first show that the
 * collector is still running another version (U3).
 */
export function probeIsDue(attempt: Attempt, row: Row | undefined, settings: PolicySettings): boolean {
  if (attempt.state !== 'unknown' || row === undefined) return false;
  const { collectorVersion, lastSeenAliveMs = 0 } = row.collector;
  const isSilent = attempt.silentSinceMs !== undefined && lastSeenAliveMs <= attempt.silentSinceMs;
  return row.seenAtMs >= evidenceFromMs(attempt, settings) && collectorVersion !== attempt.toVersion && !isSilent;
}

/**
 * Returns the earliest monotonic time in ms at which a listing can show the outcome of the upgrade. Earlier listings
 * may be outdated (U3, U7).
 */
export function evidenceFromMs(attempt: Attempt, settings: PolicySettings): number {
  if (attempt.state !== 'unknown') return attempt.sinceMs + (attempt.needsGrace ? settings.graceMs : 0);
  return Math.max(attempt.sinceMs, attempt.probedAtMs ?? 0) + settings.graceMs;
}

/** Evaluates the response to an upgrade request. */
function afterPost(known: Known): Entry | undefined {
  const { entry, open, evidence, now } = known;
  const { posted, inFlight } = evidence;
  const hasUnknownOutcome = () => reopen(known, { state: 'unknown', sinceMs: now.monotonicMs });
  // The outcome is unknown: this process has not sent the upgrade request, but an earlier process may have sent it.
  if (!posted) return inFlight ? entry : hasUnknownOutcome();
  switch (posted.kind) {
    case 'accepted':
      return reopen(known, { state: 'accepted', taskId: posted.taskId, sinceMs: now.monotonicMs });
    case 'unknown':
      return open.probe ? unprobed(known) : hasUnknownOutcome();
    case 'notSent':
      return open.probe ? unprobed(known, { probe: false }) : withdraw(entry);
    case 'refused':
      return afterRefusal(known, posted);
  }
}

/**
 * Evaluates the refusal of an upgrade request (U11). A refused first request does not count as an attempt. A refused
 * repeated request counts, because the first request may have started the upgrade.
 */
function afterRefusal(
  { entry, ...known }: Known,
  { serviceCode, message }: Extract<PostOutcome, { kind: 'refused' }>,
): Entry | undefined {
  const { open, evidence, now } = known;
  const before = open.probe ? entry : (withdraw(entry) ?? { ...entry, open: undefined, used: 0, isRollback: false });
  const refused = { ...known, entry: before };
  const { lastSeenAliveMs } = evidence.row?.collector ?? {};
  switch (serviceCode) {
    case 'collector.in.upgrading':
      // The service is already upgrading this collector. If the refused request was a repeated request, the first
      // request may have started the upgrade.
      return reopen(refused, { state: 'adopted', ours: open.probe, sinceMs: now.monotonicMs });
    case 'collector.not.alive':
      if (open.probe) return unprobed(refused, { silentSinceMs: lastSeenAliveMs ?? 0 });
      return close(refused, 'offline', message, lastSeenAliveMs);
    case 'collector.invalid':
      return close(refused, 'invalid', message);
    case 'collector.version.invalid':
      // The service may refuse an upgrade to the version that is already installed. If it refuses a repeated request,
      // the first request may therefore have succeeded.
      return open.probe ? unprobed(refused) : close(refused, 'refused', message);
    default:
      return close(refused, 'refused', message);
  }
}

/** Ends an attempt if its upgrade task has succeeded or failed. Returns undefined while the task is running. */
function afterTask(known: Known): Entry | undefined {
  const { task } = known.evidence;
  if (!task || !isTaskOf(known.open, known.entry.collectorId, task)) return undefined;
  switch (task.status) {
    case 'succeeded':
      return close(known, 'updated');
    case 'failed':
      return close(known, 'failed', task.message ?? 'the service gave no reason');
    case 'notStarted':
    case 'pending':
    case 'progressing':
    case 'unknown':
      return undefined;
  }
}

/**
 * Reports whether an upgrade task belongs to this attempt (U4). Task ids are compared only if both are numbers, because
 * the service does not document the format of its ids.
 */
function isTaskOf({ taskId, toVersion }: Attempt, collectorId: string, task: UpgradeTask): boolean {
  const isAnother = isNumber(task.id) && isNumber(taskId) && BigInt(task.id) !== BigInt(taskId);
  return task.collectorId === collectorId && task.toVersion === toVersion && !isAnother;
}

function isNumber(id: string | undefined): id is string {
  return id !== undefined && /^\d{1,20}$/.test(id);
}

/** Ends an attempt if the newest listing shows the requested version, or if the time limit has passed. */
function afterListing(known: Known): Entry | undefined {
  const { entry, open, now, settings } = known;
  const { row, sweptSinceMs = 0, observable, showsOrigin } = known.evidence;
  const version = row !== undefined && row.seenAtMs >= evidenceFromMs(open, settings) && row.collector.collectorVersion;
  if (version === open.toVersion) return close(known, 'updated');
  const hasChanged = version !== false && !entry.isRollback && entry.before !== undefined && version !== entry.before;
  // An upgrade that logfleet did not start may install any version. Therefore, any change of the version shows that the
  // upgrade has ended.
  if (!open.ours && hasChanged) return forgetOpen(entry);

  const limitMs = open.sinceMs + settings.openLimitMs;
  if (now.monotonicMs < limitMs) return entry;
  if (row !== undefined && row.seenAtMs >= limitMs) {
    // If the request was never repeated, for example because the rollout was stopped, the first request may not have
    // been sent at all. In that case, the attempt does not count.
    return open.state === 'unknown' && !open.probe ? withdraw(entry) : timedOut(known);
  }
  if (sweptSinceMs < limitMs) return entry;
  const unobservable = `the result of the upgrade is unknown: the service offers only build ${open.toVersion}, and its list of collectors may omit collectors that run this build`;
  if (!observable) return close(known, 'unobservable', unobservable);
  if (row !== undefined) return entry;
  // If the service lists all collectors that still run the former version, a collector that is not listed no longer
  // exists.
  return showsOrigin ? undefined : timedOut(known);
}

function timedOut(known: Known): Entry | undefined {
  const { entry, open, now } = known;
  if (!open.ours) return forgetOpen(entry);
  const minutes = Math.round((now.monotonicMs - open.sinceMs) / 60_000);
  return close(known, 'timedOut', `the upgrade did not end within ${minutes} minutes`);
}

/**
 * Returns the ledger entry after a repeated request that was refused, not sent or not answered. The time limit of the
 * attempt remains the same (U5).
 */
function unprobed(known: Known, more: Pick<Partial<Attempt>, 'silentSinceMs' | 'probe'> = {}): Entry {
  return reopen(known, { state: 'unknown', probedAtMs: known.now.monotonicMs, ...more });
}

function reopen({ entry, open }: Pick<Known, 'entry' | 'open'>, change: Partial<Attempt>): Entry {
  return { ...entry, open: { ...open, ...change } };
}

/**
 * Removes an open attempt whose upgrade never started. The numbers of attempts and drifts no longer include this
 * attempt.
 */
function withdraw(entry: Entry): Entry | undefined {
  const { ending } = entry;
  const corrects = ending?.kind === 'updated' || ending?.kind === 'left';
  const drifts = corrects ? Math.max(0, entry.drifts - 1) : entry.drifts;
  return forgetOpen({ ...entry, used: Math.max(0, entry.used - 1), drifts });
}

function forgetOpen(entry: Entry): Entry | undefined {
  const rest = { ...entry, open: undefined };
  return rest.used === 0 && rest.drifts === 0 && rest.ending === undefined ? undefined : rest;
}

function close({ entry, open, now }: Known, kind: EndingKind, message = '', lastSeenAliveMs?: number): Entry {
  const { toVersion, taskId, startedAtMs } = open;
  const times = { startedAtMs, endedAtMs: now.wallMs, sinceMs: now.monotonicMs };
  return { ...entry, open: undefined, ending: { kind, toVersion, taskId, message, ...times, lastSeenAliveMs } };
}
