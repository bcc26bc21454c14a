/**
 * The one pure function of a policy: everything that is known goes in as data, everything that shall happen comes out as data.
 *
 * In this order: settle open attempts by what was learnt (U3 to U7, U10, U11, `settlement.ts`); heed what people asked (`people.ts`);
 * see where the rollout stands, and whether too much of it has failed (`rollout-course.ts`); admit new attempts, if anything may start
 * at all (U2, U3, U6, U8, `start-rules.ts`, `admission.ts`); plan what to read next (U9, `read-plan.ts`); find the verdict on health and
 * the status.
 *
 * It reads `ledger`, `roster` and `listing` and changes none of them; the shell writes the changes, then applies them.
 */
import { reasons } from '../api/conditions.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { Health } from '../controller/health.ts';
import { pausedByOf } from '../controller/pauses.ts';
import { isoTime } from '../controller/status-text.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import { type AdmissionInput, admit, noAdmission } from './admission.ts';
import type { Moment, PostOutcome, TaskReading } from './attempt.ts';
import { estimateCompletionMs, type ServiceLimits } from './completion-estimate.ts';
import { describeEssentials, type Essentials, type Overlap } from './describe.ts';
import { countFailedAttempts, countLeftAlone, describeFigures, type Figures } from './describe-figures.ts';
import { Draft } from './draft.ts';
import { healthOf } from './health.ts';
import type { Entry, EntryChange, Ledger, LedgerHeader } from './ledger.ts';
import type { MaintenanceCalendar } from './maintenance-calendar.ts';
import { heedPeople } from './people.ts';
import { planReads, type ReadPlan } from './read-plan.ts';
import { headerAfter, withFailuresOf } from './rollout.ts';
import { type Course, steer } from './rollout-course.ts';
import type { Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';
import { forgetRefusals, forgetUnselected, forgive, selectionAfter, settleAll, settleByRows } from './settlement.ts';
import { type Counts, outstanding, withdrawn } from './standing-counts.ts';
import { isLeftToPeople, nextStartMs, waitOf } from './standstill.ts';
import { refusalOfAll } from './start-rules.ts';
import type { Look } from './upgrade-duration.ts';
import type { TaskReads } from './watch-plan.ts';

/** What a decision needs of the shared listing; it only reads. */
export type ListingFacts = Pick<
  FleetListing,
  'row' | 'pageOf' | 'pageReadMs' | 'observes' | 'completeSinceMs' | 'sweepMs'
>;

export interface Observation {
  readonly listing: ListingFacts;
  /** Why the target cannot be had, or undefined. */
  readonly notOffered: string | undefined;
  /** That there will be another by itself, once a build is old enough (`minAge`). */
  readonly awaitsBuild?: boolean;
  /** What became of POSTs since the last decision that was written. */
  readonly posted: ReadonlyMap<string, PostOutcome>;
  /** Task readings since then. */
  readonly tasks: ReadonlyMap<string, TaskReading>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /** Collectors whose POST is on its way in this process. */
  readonly flying: ReadonlySet<string>;
  /** How many attempts were written ahead and not sent: they are withdrawn where nothing may start any more. */
  readonly unsent: number;
  /** How many attempts may be written ahead now. */
  readonly room: number;
  /** What must come before anything may start, in words; undefined when nothing. */
  readonly heldBy: string | undefined;
  /** What keeps the service or the credentials from being used. */
  readonly problem: LogfleetError | undefined;
  readonly ledgerFull: boolean;
  readonly typicalMs: number | undefined;
  readonly limits: ServiceLimits;
  readonly overlap: Overlap | undefined;
  /** By what all policies of this operator are paused; undefined where they are not. */
  readonly pausedForAll: string | undefined;
  /** Why no policy may start an upgrade: a manifest that cannot be used (protocol D1); absent where nothing holds them. */
  readonly policiesHold?: string | undefined;
}

export interface DecideInput {
  readonly policy: CollectorVersionPolicy;
  readonly ledger: Ledger;
  readonly roster: Roster;
  readonly observation: Observation;
  readonly calendar: MaintenanceCalendar;
  readonly now: Moment;
  readonly settings: PolicySettings;
}

/** The figures; with the rollout, where the end of it can be estimated. */
export type FiguresNow = Figures & Pick<Essentials, 'rollout'>;

export interface Decision {
  readonly changes: readonly EntryChange[];
  readonly header: LedgerHeader;
  /** Entries to be posted once `changes` are written (U2). */
  readonly post: readonly Entry[];
  /** Listings and tasks to read. */
  readonly watch: ReadPlan;
  /** What the reads taught about how long upgrades take. */
  readonly looks: readonly Look[];
  readonly health: Health;
  /** The status without its figures. */
  readonly essentials: Essentials;
  /** Counts, samples and the estimated end: made only when a status is due, since that costs a walk over the ledger. */
  readonly figures: () => FiguresNow;
  /**
   * Whether the collectors still stand as the messages count them (H3). An end that was written may have given a collector to another
   * policy (U13).
   */
  readonly isCurrent: () => boolean;
  readonly requeueAfterMs: number;
  readonly settled: boolean;
  /** Whether only changes matter until `requeueAfterMs`: no sweep that shows what is known already has to be looked at. */
  readonly isAtRest: boolean;
}

/** A policy with maintenance windows looks at the calendar at least so often: status shows the next window. */
const longestCalendarMs = 3_600_000;

export function decide(input: DecideInput): Decision {
  const { policy, ledger, roster, observation, calendar, now } = input;
  const draft = new Draft(ledger, roster);
  const { looks, failedTowards } = settleAll(input, draft);
  const heeded = heedPeople(policy, withFailuresOf(ledger.header, failedTowards), now.wallMs);
  settleByRows(input, draft);
  forgetUnselected(input, draft);
  if (heeded.retried) forgive(input, draft);
  if (observation.notOffered !== undefined) forgetRefusals(roster, draft);
  const course = steer(input, draft, heeded);
  const refusal = refusalOfAll(policy, { observation, stop: course.header.stop, calendar, now });
  const admission = refusal ? noAdmission(ledger.header.attempts) : admit(admissionInput(input, draft, course));
  const watch = planReads(input, draft, admission, course.stages.sweepFromMs);
  const mayStart = refusal === undefined && course.header.stop === undefined;
  const unsent = mayStart ? 0 : observation.unsent;
  const [counted, matched] = [draft.counts(), draft.matched];
  const counts = withdrawn(counted, unsent);
  const found = { refusal, admission, course, roster, draft, now };
  const wait = waitOf(found);
  const health = healthOf({
    spec: policy.spec,
    policiesHold: observation.policiesHold,
    pausedBy: observation.pausedForAll ?? pausedByOf(policy),
    problem: observation.problem,
    notOffered: observation.notOffered,
    awaitsBuild: observation.awaitsBuild ?? false,
    badCalendar: calendar.problem,
    targetVersion: ledger.header.target,
    fleet: { counts, matched, leftAlone: countLeftAlone(roster, draft) },
    ledgerFull: observation.ledgerFull,
    wait,
    course,
  });
  const selection = selectionAfter(input, draft);
  const { finished: lateFinished } = draft.lateTally(course.header.completions ?? 0);
  const progress = { attempts: admission.attempts, selection, health, counts, lateFinished, wallMs: now.wallMs };
  const header = headerAfter(course.header, progress);
  const { overlap } = observation;
  const failedAttempts = countFailedAttempts(roster, draft);
  const { wallMs } = now;
  const window = calendar.nextWindow(wallMs, roster.timeZones());
  const essentials = describeEssentials({
    policy,
    header,
    health,
    counts,
    overlap,
    waitingFor: wait?.waitingFor,
    course,
    window,
    wallMs,
  });
  const calendarMs = policy.spec.maintenance
    ? Math.min(wallMs + longestCalendarMs, window?.endMs ?? Infinity)
    : Infinity;
  const changes = draft.changes();
  return {
    changes,
    header,
    post: admission.post,
    watch,
    looks,
    health,
    essentials,
    figures: () => ({
      ...describeFigures({ roster, draft, unsent, health, header, failedAttempts, course }),
      ...withEnd(essentials, health.reconciling ? estimate(input, draft, course) : undefined),
    }),
    isCurrent: () => draft.matched === matched && sameValue(draft.counts(), counted),
    requeueAfterMs: Math.min(Math.min(watch.nextMs, nextStartMs(found)) - now.monotonicMs, calendarMs - wallMs),
    settled: isSettled(input, health, draft.openCount, counts) || isLeftToPeople(found, health),
    isAtRest: isSettledHeader(input, header) && changes.length === 0 && isQuiet(input, draft, counts, watch),
  };
}

/** Whether the next decision would find nothing more to note of the rollout: stages go on by one step with each. */
function isSettledHeader({ ledger, policy }: DecideInput, header: LedgerHeader): boolean {
  return header === ledger.header || (policy.spec.strategy.stages ?? []).length === 0;
}

/** Whether nothing is in flight, nothing is to be started, and no page is awaited. */
function isQuiet({ policy, observation, roster }: DecideInput, draft: Draft, counts: Counts, watch: ReadPlan): boolean {
  if (observation.problem || observation.notOffered !== undefined || roster.awaitsSweep) return false;
  if (watch.pages.size > 0 || watch.tasks.length > 0 || watch.sweepAfterMs !== undefined) return false;
  const isOpen = draft.openCount + counts.inProgress + counts.retrying + counts.drifting > 0;
  return !isOpen && (counts.pending === 0 || policy.spec.mode === 'Observe');
}

/** Who is paused or stalled waits for a person: an estimate would move with the clock, and each look would be a write. */
function estimate(input: DecideInput, draft: Draft, course: Course) {
  const { policy, roster, observation, calendar, now } = input;
  const { limits, typicalMs } = observation;
  if (typicalMs === undefined) return shownEndMs(input, draft, course);
  return estimateCompletionMs({
    spec: policy.spec,
    course,
    roster,
    draft,
    calendar,
    limits,
    typicalMs,
    wallMs: now.wallMs,
  });
}

/** The estimate of another process. It stays until this process has seen how long upgrades take, or until its time has passed (H1). */
function shownEndMs({ policy, now }: DecideInput, draft: Draft, { header, stages }: Course): number | undefined {
  const { id, estimatedCompletionTime: end } = policy.status?.rollout ?? {};
  if (end === undefined || id !== header.rolloutId || header.stop || stages.gate?.byPerson) return undefined;
  const isRefuted = outstanding(draft.counts()) === 0 || Date.parse(end) <= now.wallMs;
  return isRefuted ? undefined : Date.parse(end);
}

function withEnd({ rollout }: Essentials, endMs: number | undefined): Pick<Essentials, 'rollout'> {
  return rollout && endMs !== undefined ? { rollout: { ...rollout, estimatedCompletionTime: isoTime(endMs) } } : {};
}

function admissionInput(input: DecideInput, draft: Draft, course: Course): AdmissionInput {
  const { policy, ledger, roster, observation, calendar, now, settings } = input;
  return {
    course,
    calendar,
    spec: policy.spec,
    targetVersion: ledger.header.target,
    roster,
    draft,
    attempts: ledger.header.attempts,
    room: observation.room,
    flying: observation.flying,
    now,
    settings,
  };
}

/** Whether nothing will move any more unless somebody does something: a directory run may end. */
function isSettled({ policy, observation }: DecideInput, health: Health, open: number, counts: Counts): boolean {
  // Without the service nothing can be learnt of what is in flight, either.
  if (observation.problem && health.stalled) return true;
  // Builds age for days: a run that ends comes back to it.
  if (open === 0 && health.reason === reasons.waitingForBuildAge) return true;
  if (open > 0 || health.reconciling) return false;
  return health.ready === 'Unknown' || health.stalled || policy.spec.mode === 'Observe' || outstanding(counts) === 0;
}
