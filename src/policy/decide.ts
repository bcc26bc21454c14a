/**
 * The pure function at the centre of a policy. All knowledge goes in as data, and all actions come out as data.
 *
 * The order of its steps:
 * - Settle open attempts by the new evidence (U3 to U7, U10, U11, `settlement.ts`).
 * - Apply the annotations that people set (`people.ts`).
 * - Evaluate the state of the rollout and its failure policy (`rollout-state.ts`).
 * - Admit new attempts, if any may start (U2, U3, U6, U8, `start-rules.ts`, `admission.ts`).
 * - Plan the next reads (U9, `read-plan.ts`).
 * - Find the verdict on health, and build the status.
 *
 * `decide` does not change `ledger`, `roster` and `listing`. The caller writes the changes to the ledger and then applies them.
 */
import { reasons } from '../api/conditions.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { Health } from '../controller/health.ts';
import { pausedByOf } from '../controller/pauses.ts';
import { isoTime } from '../controller/status-text.ts';
import { admit, noAdmission } from './admission.ts';
import type { DecideInput } from './decide-input.ts';
import { describeEssentials, type Essentials } from './describe.ts';
import { countLeftAlone, describeFigures, type Figures } from './describe-figures.ts';
import { Draft } from './draft.ts';
import { healthOf } from './health.ts';
import type { Entry, LedgerChange, LedgerHeader } from './ledger.ts';
import { needsLedger } from './ledger-need.ts';
import { heedPeople } from './people.ts';
import { planReads, type ReadPlan } from './read-plan.ts';
import { headerAfter } from './rollout.ts';
import { areStagesEnded, evaluate, type Gate, type RolloutState } from './rollout-state.ts';
import { forgetRefusals, forgetUnselected, forgive, selectionAfter, settleAll, settleByRows } from './settlement.ts';
import { type Counts, outstanding, withdrawn } from './standing-counts.ts';
import { isLeftToPeople, nextStartMs, waitOf } from './standstill.ts';
import type { AdmissionInput } from './start-rules.ts';
import { refusalOfAll } from './start-rules.ts';
import { measureThroughput } from './throughput.ts';
import type { Look } from './upgrade-duration.ts';

/** Figures of the status, and the rollout with its estimated end when there is one. */
export type FiguresNow = Figures & Pick<Essentials, 'rollout'>;

export interface Decision extends LedgerChange {
  /**
   * Whether changes are written to the ledger. Until a policy needs a ledger, its status shows everything that must be remembered
   * (U1).
   */
  readonly needsLedger: boolean;
  /** Entries to post after `changes` have been written (U2). */
  readonly post: readonly Entry[];
  /** Listings and tasks to read. */
  readonly watch: ReadPlan;
  /** What the collectors of later stages wait for; undefined when they wait for nothing. */
  readonly gate: Gate | undefined;
  /** Observed durations of upgrades. */
  readonly looks: readonly Look[];
  readonly health: Health;
  /** Status without its figures. */
  readonly essentials: Essentials;
  /** Computes counts, samples and the estimated end. Called only when a status is due, because it walks over the whole ledger. */
  readonly figures: () => FiguresNow;
  /**
   * Whether the counts in the messages are still correct (H3). An end that was written may have given a collector to another policy
   * (U13).
   */
  readonly isCurrent: () => boolean;
  readonly requeueAfterMs: number;
  readonly settled: boolean;
  /** Whether only changes matter until `requeueAfterMs`. A sweep that shows nothing new then needs no decision. */
  readonly isAtRest: boolean;
}

/** Maximum interval between decisions of a policy with maintenance windows, because status shows the next window. */
const longestCalendarMs = 3_600_000;

export function decide(input: DecideInput): Decision {
  const { policy, ledger, roster, observation, calendar, now } = input;
  const draft = new Draft(ledger, roster);
  const looks = settleAll(input, draft);
  const heeded = heedPeople(policy, ledger.header, now.wallMs);
  settleByRows(input, draft);
  forgetUnselected(input, draft);
  if (heeded.retried) forgive(input, draft);
  if (observation.notOffered !== undefined) forgetRefusals(roster, draft);
  const known = { observation, stop: undefined, calendar, now };
  const state = evaluate(input, draft, {
    header: draft.counted(heeded.header),
    retried: heeded.retried,
    mayStart: refusalOfAll(policy, known) === undefined,
  });
  const { stop } = state.header;
  const refusal = refusalOfAll(policy, { ...known, stop });
  const admission = refusal ? noAdmission(ledger.header.attempts) : admit(admissionInput(input, draft, state));
  const watch = planReads(input, draft, admission, state.sweepFromMs);
  const unsent = refusal === undefined && stop === undefined ? 0 : observation.unsent;
  const [counted, matched] = [draft.counts(), draft.matched];
  const counts = withdrawn(counted, unsent);
  const found = { refusal, admission, state, draft, now };
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
    state,
  });
  const selection = selectionAfter(input, draft);
  const isUpdated = health.ready === 'True';
  const isCovered = state.excess === undefined && state.untolerated === 0;
  const isStaged = state.header.stages !== undefined;
  const header = headerAfter(state.header, {
    attempts: admission.attempts,
    selection,
    counts,
    isUpdated,
    isOver: areStagesEnded(policy.spec, state.header) && (isStaged ? isCovered : isUpdated),
    wallMs: now.wallMs,
  });
  const { overlap } = observation;
  const { wallMs } = now;
  const window = calendar.nextWindow(wallMs, roster.timeZones());
  const changes = draft.changes();
  const isLedgerNeeded = observation.isLedgerWritten || ledger.size > 0 || changes.length > 0 || needsLedger(header);
  const essentials = describeEssentials({
    policy,
    header,
    isLedgerNeeded,
    health,
    counts,
    overlap,
    waitingFor: wait?.waitingFor,
    state,
    window,
    wallMs,
  });
  const calendarMs = policy.spec.maintenance
    ? Math.min(wallMs + longestCalendarMs, window?.endMs ?? Infinity)
    : Infinity;
  // A stage has started, or a person has retried: the next decision goes on from there.
  const isFollowed = state.started !== undefined || heeded.retried;
  const nextMs = Math.min(watch.nextMs, nextStartMs(found)) - now.monotonicMs;
  return {
    changes,
    header,
    started: state.started ?? [],
    needsLedger: isLedgerNeeded,
    post: admission.post,
    watch,
    gate: state.gate,
    looks,
    health,
    essentials,
    figures: () => ({
      ...describeFigures({ roster, draft, unsent, health, spec: policy.spec, state: { ...state, header } }),
      ...withEnd(essentials, health.reconciling ? estimateEndMs(input, draft, state) : undefined),
    }),
    isCurrent: () => draft.matched === matched && sameValue(draft.counts(), counted),
    requeueAfterMs: isFollowed ? 0 : Math.min(nextMs, calendarMs - wallMs),
    settled: !isFollowed && (isSettled(input, health, draft.openCount, counts) || isLeftToPeople(found, health)),
    isAtRest: isSettledHeader(input, header) && changes.length === 0 && isQuiet(input, draft, counts, watch),
  };
}

/** Whether the next decision would leave the header unchanged. Each decision advances a stage by at most one step. */
function isSettledHeader({ ledger, policy }: DecideInput, header: LedgerHeader): boolean {
  return header === ledger.header || (policy.spec.strategy.stages ?? []).length === 0;
}

/** Whether no attempt is in flight, none will start, and no page is awaited. */
function isQuiet({ policy, observation, roster }: DecideInput, draft: Draft, counts: Counts, watch: ReadPlan): boolean {
  if (observation.problem || observation.notOffered !== undefined || roster.awaitsSweep) return false;
  if (watch.pages.size > 0 || watch.tasks.length > 0 || watch.sweepAfterMs !== undefined) return false;
  const isOpen = draft.openCount + counts.inProgress + counts.retrying + counts.drifting > 0;
  return !isOpen && (counts.pending === 0 || policy.spec.mode === 'Observe');
}

/**
 * Estimated wall time in ms at which the remaining collectors are upgraded, from the measured throughput.
 * Without a measured throughput, the estimate in status stays until its time has passed (H1). Undefined while the rollout waits for
 * a person.
 */
function estimateEndMs(
  { policy, now: { wallMs } }: DecideInput,
  draft: Draft,
  { header, gate }: RolloutState,
): number | undefined {
  const left = outstanding(draft.counts());
  if (left === 0 || header.stop || header.completedAtMs !== undefined || gate?.byPerson) return undefined;
  const throughput = measureThroughput(draft.entries(), wallMs);
  if (throughput !== undefined) return Math.round(wallMs + left / throughput);
  const { id, estimatedCompletionTime: shown = '' } = policy.status?.rollout ?? {};
  const shownMs = Date.parse(shown);
  return id === header.rolloutId && shownMs > wallMs ? shownMs : undefined;
}

function withEnd({ rollout }: Essentials, endMs: number | undefined): Pick<Essentials, 'rollout'> {
  return rollout && endMs !== undefined ? { rollout: { ...rollout, estimatedCompletionTime: isoTime(endMs) } } : {};
}

function admissionInput(input: DecideInput, draft: Draft, state: RolloutState): AdmissionInput {
  const { policy, ledger, roster, observation, calendar, now, settings } = input;
  return {
    state,
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

/** Whether nothing will change without a person. A directory run may then end. */
function isSettled({ policy, observation }: DecideInput, health: Health, open: number, counts: Counts): boolean {
  // Without the service, no evidence about attempts in flight can arrive.
  if (observation.problem && health.stalled) return true;
  // A build needs days to reach its minimum age. A directory run ends and continues at its next start.
  if (open === 0 && health.reason === reasons.waitingForBuildAge) return true;
  if (open > 0 || health.reconciling) return false;
  return health.ready === 'Unknown' || health.stalled || policy.spec.mode === 'Observe' || outstanding(counts) === 0;
}
