/**
 * State machine of one upgrade attempt. Pure functions compute the collector's next ledger entry from its entry and new evidence.
 *
 *               ┌─ not sent ──────────────► (withdrawn: no trace is left)
 *   intended ───┼─ 202 ───────────────────► accepted ─── task status, listing, 35 min ──► ended
 *      ▲        ├─ in.upgrading ──────────► adopted ──── listing, 35 min ───────────────► ended
 *      │        ├─ another refusal ───────► ended (U11)
 *      │        └─ 5xx, time-out, reset ──► unknown ──── listing at the target, 35 min ─► ended
 *      └──────────── probe (U3) ───────────────┘
 *
 * `admission.ts` decides whether a probe or a retry may be posted now. `watch-plan.ts` decides what to read next.
 */
import type { Row } from '../../fleet/fleet-rows.ts';
import type { UpgradeTask } from '../../service/collectors/upgrade-service.ts';
import type { Attempt, Ending, EndingKind, Entry } from '../ledger/ledger.ts';
import type { PolicySettings } from '../settings.ts';

/** Outcome of the POST that requests an upgrade. */
export type PostOutcome =
  | { readonly kind: 'accepted'; readonly taskId: string }
  | { readonly kind: 'refused'; readonly serviceCode: string; readonly message: string }
  | { readonly kind: 'notSent' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Evidence about one collector at the time when its upgrade attempt is evaluated. */
export interface Evidence {
  readonly row: Row | undefined;
  readonly posted: PostOutcome | undefined;
  /** Status of the upgrade task, as read since the last decision; undefined when none was read, or the task was not found. */
  readonly task: UpgradeTask | undefined;
  /** Whether this process has sent a POST for the collector and has not received the answer yet. */
  readonly inFlight: boolean;
  /** Whether listings of the service show collectors that run the version of this attempt (U7). */
  readonly observable: boolean;
  /**
   * Whether listings show collectors that still run the version from before the attempt. If they do and no
   * listing shows the collector, it does not exist any more.
   */
  readonly showsOrigin: boolean;
  /**
   * Monotonic time in ms at which the first request of the newest complete sweep (a read of the whole collector list) was sent.
   */
  readonly sweptSinceMs: number | undefined;
}

export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Converts wall time to monotonic time, both in ms. The result is exact as long as neither clock is adjusted. */
export function monotonicOf(wallMs: number, now: Instant): number;
export function monotonicOf(wallMs: number | undefined, now: Instant): number | undefined;
export function monotonicOf(wallMs: number | undefined, now: Instant): number | undefined {
  return wallMs === undefined ? undefined : now.monotonicMs + wallMs - now.wallMs;
}

/**
 * Evaluates the open attempt of a ledger entry against new evidence. Returns the same object when nothing changed, and undefined
 * when the entry can be deleted.
 */
export function settleEntry(
  entry: Entry,
  evidence: Evidence,
  now: Instant,
  settings: PolicySettings,
): Entry | undefined {
  const { open } = entry;
  if (!open) return entry;
  switch (open.state) {
    case 'intended':
      return settleIntended(entry, open, evidence, now);
    case 'accepted':
      return settleByTask(entry, open, evidence, now) ?? settleByListing(entry, open, evidence, now, settings);
    case 'unknown':
    case 'adopted':
      return settleByListing(entry, open, evidence, now, settings);
  }
}

/**
 * Whether the POST of an attempt may be repeated (a probe). Two conditions must hold: the outcome
 * of the attempt is unknown, and a listing that was requested at least a grace period (`graceMs`)
 * after the POST still shows another version (U3).
 */
export function probeIsDue(attempt: Attempt, row: Row | undefined, settings: PolicySettings): boolean {
  if (attempt.state !== 'unknown' || row === undefined) return false;
  const { collectorVersion, lastSeenAliveMs = 0 } = row.collector;
  const isSilent = attempt.silentSinceMs !== undefined && lastSeenAliveMs <= attempt.silentSinceMs;
  return row.seenAtMs >= evidenceFromMs(attempt, settings) && collectorVersion !== attempt.toVersion && !isSilent;
}

/** Monotonic time in ms: only a listing requested at or after this time is evidence about the attempt (U3, U7). */
export function evidenceFromMs(attempt: Attempt, settings: PolicySettings): number {
  if (attempt.state !== 'unknown') return attempt.sinceMs + (attempt.needsGrace ? settings.graceMs : 0);
  return Math.max(attempt.sinceMs, attempt.probedAtMs ?? 0) + settings.graceMs;
}

function settleIntended(entry: Entry, open: Attempt, evidence: Evidence, now: Instant): Entry | undefined {
  const { posted } = evidence;
  if (!posted) {
    // A former process stored this attempt in the ledger. That process may or may not have sent the POST, so the outcome is
    // unknown.
    return evidence.inFlight ? entry : unknown(entry, open, now);
  }
  switch (posted.kind) {
    case 'accepted':
      return reopen(entry, open, { state: 'accepted', taskId: posted.taskId, sinceMs: now.monotonicMs });
    case 'unknown':
      return open.probe ? unprobed(entry, open, now) : unknown(entry, open, now);
    case 'notSent':
      return open.probe ? unprobed(entry, open, now) : withdraw(entry);
    case 'refused':
      return settleRefused(entry, open, posted, evidence, now);
  }
}

/**
 * Evaluates an upgrade POST that the service refused (U11). If the POST was a probe (a repeated POST), the refusal also
 * shows the state of the original attempt.
 */
function settleRefused(
  entry: Entry,
  open: Attempt,
  { serviceCode, message }: Extract<PostOutcome, { kind: 'refused' }>,
  { row }: Evidence,
  now: Instant,
): Entry | undefined {
  const before = open.probe ? entry : (withdraw(entry) ?? { ...entry, open: undefined, used: 0, back: false });
  const end = (kind: EndingKind) => close(before, open, kind, message, now, row);
  switch (serviceCode) {
    case 'collector.in.upgrading':
      // A probe may find the upgrade that its own attempt started. Without a probe, the upgrade is not logfleet's.
      return reopen(before, open, { state: 'adopted', ours: open.probe, sinceMs: now.monotonicMs });
    case 'collector.not.alive':
      return open.probe ? unprobed(entry, open, now, row?.collector.lastSeenAliveMs ?? 0) : end('offline');
    case 'collector.invalid':
      return end('invalid');
    case 'collector.version.invalid':
      // The service may refuse an upgrade to the version that already runs. So the refused probe may mean that the original
      // attempt has succeeded.
      return open.probe ? unprobed(entry, open, now) : end('refused');
    default:
      return end('refused');
  }
}

/**
 * Evaluates the status of an upgrade task. Returns undefined when the status is not final or the task belongs to another attempt
 * (U4).
 */
function settleByTask(entry: Entry, open: Attempt, evidence: Evidence, now: Instant): Entry | undefined {
  const { task } = evidence;
  if (!task || !isTaskOf(open, entry.collectorId, task)) return undefined;
  switch (task.status) {
    case 'succeeded':
      return close(entry, open, 'updated', '', now, evidence.row);
    case 'failed':
      return close(entry, open, 'failed', task.message ?? 'the service gave no reason', now, evidence.row);
    case 'notStarted':
    case 'pending':
    case 'progressing':
    case 'unknown':
      return undefined;
  }
}

/**
 * Whether an upgrade task belongs to this attempt. An earlier attempt of the collector may have had the same version (U4). The
 * order of task ids is used only when both ids are numbers, because the service documents no form of the ids.
 */
function isTaskOf({ taskId, toVersion }: Attempt, collectorId: string, task: UpgradeTask): boolean {
  const isAnother = isNumber(task.id) && isNumber(taskId) && BigInt(task.id) !== BigInt(taskId);
  return task.collectorId === collectorId && task.toVersion === toVersion && !isAnother;
}

function isNumber(id: string | undefined): id is string {
  return id !== undefined && /^\d{1,20}$/.test(id);
}

function settleByListing(
  entry: Entry,
  open: Attempt,
  evidence: Evidence,
  now: Instant,
  settings: PolicySettings,
): Entry | undefined {
  const { row } = evidence;
  const fresh = row !== undefined && row.seenAtMs >= evidenceFromMs(open, settings);
  if (fresh && row.collector.collectorVersion === open.toVersion) return close(entry, open, 'updated', '', now, row);
  const changed = fresh && !entry.back && entry.before !== undefined && row.collector.collectorVersion !== entry.before;
  // The collector changed its version, so an upgrade that logfleet did not start has ended. The
  // collector has no open attempt any more.
  if (!open.ours && changed) return forgetOpen(entry);

  const limitMs = open.sinceMs + settings.openLimitMs;
  if (now.monotonicMs < limitMs) return entry;
  if (row !== undefined && row.seenAtMs >= limitMs) return endWithout(entry, open, now, row);
  if ((evidence.sweptSinceMs ?? 0) < limitMs) return entry;
  if (!evidence.observable) return close(entry, open, 'unobservable', notObservable(open), now, row);
  if (row !== undefined) return entry;
  // Two complete sweeps (reads of the whole collector list) did not show the collector, so it does
  // not exist any more. This holds only if the list shows collectors that run the collector's
  // former version.
  return evidence.showsOrigin ? undefined : endWithout(entry, open, now, row);
}

function endWithout(entry: Entry, open: Attempt, now: Instant, row: Row | undefined): Entry | undefined {
  if (!open.ours) return forgetOpen(entry);
  const message = `the upgrade did not end within ${Math.round((now.monotonicMs - open.sinceMs) / 60_000)} minutes`;
  return close(entry, open, 'timedOut', message, now, row);
}

function notObservable(open: Attempt): string {
  return `no listing can show collectors at ${open.toVersion}, the only build of the service`;
}

/**
 * Ledger entry after a probe (a repeated POST) that had no effect or got no answer. The outcome of the attempt stays unknown, and
 * its age continues to count (U5).
 */
function unprobed(entry: Entry, open: Attempt, now: Instant, silentSinceMs?: number): Entry {
  const silence = silentSinceMs !== undefined && { silentSinceMs };
  return reopen(entry, open, { state: 'unknown', probedAtMs: now.monotonicMs, ...silence });
}

function unknown(entry: Entry, open: Attempt, now: Instant): Entry {
  return reopen(entry, open, { state: 'unknown', sinceMs: now.monotonicMs });
}

function reopen(entry: Entry, open: Attempt, change: Partial<Attempt>): Entry {
  return { ...entry, open: { ...open, ...change } };
}

/**
 * Ledger entry without its open attempt, which was never sent or was refused before it started. Such an attempt counts neither
 * against the retries nor as a drift.
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

function close(
  entry: Entry,
  open: Attempt,
  kind: EndingKind,
  message: string,
  now: Instant,
  row: Row | undefined,
): Entry {
  const ending: Ending = {
    kind,
    toVersion: open.toVersion,
    taskId: open.taskId,
    message,
    startedAtMs: open.startedAtMs,
    endedAtMs: now.wallMs,
    sinceMs: now.monotonicMs,
    lastSeenAliveMs: kind === 'offline' ? row?.collector.lastSeenAliveMs : undefined,
  };
  return { ...entry, open: undefined, ending };
}
