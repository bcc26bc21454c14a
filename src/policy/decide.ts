/**
 * The one pure function of a policy: everything that is known goes in as data, everything that shall happen comes out as data.
 *
 * In this order: settle open attempts by what was learnt (U3 to U7, U10, U11, `settlement.ts`); admit new ones, if anything may
 * start at all (U2, U3, U6, U8, `start-rules.ts`, `admission.ts`); plan what to read next (U9, `read-plan.ts`); find the verdict on
 * health and the status.
 *
 * It reads `ledger`, `roster` and `listing` and changes none of them; the shell writes the changes, then applies them.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import { type Admission, admit, noAdmission } from './admission.ts';
import type { Moment, PostOutcome, TaskReading } from './attempt.ts';
import { describeEssentials, type Essentials, isoTime, type Overlap } from './describe.ts';
import { countLeftAlone, describeFigures, type Figures } from './describe-figures.ts';
import { Draft } from './draft.ts';
import { type Health, healthOf, outstanding } from './health.ts';
import type { Entry, EntryChange, Ledger, LedgerHeader } from './ledger.ts';
import { planReads } from './read-plan.ts';
import { headerAfter } from './rollout.ts';
import type { Counts, Roster } from './roster.ts';
import type { PolicySettings } from './settings.ts';
import { forgetRefusals, forgetUnselected, selectionAfter, settleAll } from './settlement.ts';
import { pausedByOf, type Refusal, refusalOfAll } from './start-rules.ts';
import type { Look } from './upgrade-duration.ts';
import type { TaskReads, WatchPlan } from './watch-plan.ts';

/** What a decision needs of the shared listing; it only reads. */
export type ListingFacts = Pick<
  FleetListing,
  'row' | 'pageOf' | 'pageReadMs' | 'observes' | 'completeSinceMs' | 'sweepMs'
>;

export interface Observation {
  readonly listing: ListingFacts;
  /** Why the target cannot be had, or undefined. */
  readonly notOffered: string | undefined;
  /** What became of POSTs since the last decision that was written. */
  readonly posted: ReadonlyMap<string, PostOutcome>;
  /** Task readings since then. */
  readonly tasks: ReadonlyMap<string, TaskReading>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /** Collectors whose POST is on its way in this process. */
  readonly flying: ReadonlySet<string>;
  /** How many attempts may be written ahead now. */
  readonly room: number;
  /** What must come before anything may start, in words; undefined when nothing. */
  readonly heldBy: string | undefined;
  /** What keeps the service or the credentials from being used. */
  readonly problem: LogfleetError | undefined;
  readonly ledgerFull: boolean;
  readonly typicalMs: number | undefined;
  readonly overlap: Overlap | undefined;
}

export interface DecideInput {
  readonly policy: CollectorVersionPolicy;
  readonly ledger: Ledger;
  readonly roster: Roster;
  readonly observation: Observation;
  readonly now: Moment;
  readonly settings: PolicySettings;
}

export interface Decision {
  readonly changes: readonly EntryChange[];
  readonly header: LedgerHeader;
  /** Entries to be posted once `changes` are written (U2). */
  readonly post: readonly Entry[];
  /** Listings and tasks to read. */
  readonly watch: WatchPlan;
  /** What the reads taught about how long upgrades take. */
  readonly looks: readonly Look[];
  readonly health: Health;
  /** The status without its figures. */
  readonly essentials: Essentials;
  /** Counts and samples: made only when a status is due, since that costs a walk over the ledger. */
  readonly figures: () => Figures;
  readonly requeueAfterMs: number;
  readonly settled: boolean;
}

export function decide(input: DecideInput): Decision {
  const { policy, ledger, roster, observation, now } = input;
  const draft = new Draft(ledger, roster);
  const looks = settleAll(input, draft);
  forgetUnselected(input, draft);
  if (observation.notOffered !== undefined) forgetRefusals(roster, draft);
  const refusal = refusalOfAll(policy, observation);
  const admission = refusal ? noAdmission(ledger.header.attempts) : admit(admissionInput(input, draft));
  const watch = planReads(input, draft, admission);
  const counts = draft.counts();
  const waitingFor = waitingForOf(refusal, admission, counts, now);
  const health = healthOf({
    spec: policy.spec,
    pausedBy: pausedByOf(policy),
    problem: observation.problem,
    notOffered: observation.notOffered,
    targetVersion: ledger.header.target,
    fleet: { counts, matched: draft.matched, leftAlone: countLeftAlone(roster, draft) },
    ledgerFull: observation.ledgerFull,
    waitingFor,
  });
  const selection = selectionAfter(input, draft);
  const progress = { attempts: admission.attempts, selection, health, counts, wallMs: now.wallMs };
  const header = headerAfter(ledger.header, progress);
  const { overlap, typicalMs } = observation;
  const { wallMs } = now;
  return {
    changes: draft.changes(),
    header,
    post: admission.post,
    watch,
    looks,
    health,
    essentials: describeEssentials({ policy, header, health, counts, overlap, typicalMs, waitingFor, wallMs }),
    figures: () => describeFigures(roster, draft, health),
    requeueAfterMs: Math.min(watch.nextMs, admission.nextMs) - now.monotonicMs,
    settled: isSettled(input, health, draft.openCount, counts),
  };
}

function admissionInput({ policy, ledger, roster, observation, now, settings }: DecideInput, draft: Draft) {
  return {
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

/** What has to happen before more is started, in words; undefined where nothing has to. */
function waitingForOf(
  refusal: Refusal | undefined,
  { post, waits }: Admission,
  { pending }: Counts,
  now: Moment,
): string | undefined {
  if (refusal) return refusal.waitsFor;
  const moves = pending > 0 || post.length > 0;
  const wait = waits.find(({ forAll }) => forAll || !moves);
  if (!wait) return undefined;
  const { waitsFor, collectors, untilMs } = wait;
  const who = wait.forAll ? '' : ` (${collectors} collector${collectors === 1 ? '' : 's'})`;
  const until = untilMs === undefined ? '' : ` until ${isoTime(now.wallMs + untilMs - now.monotonicMs)}`;
  return `${waitsFor}${who}${until}`;
}

/** Whether nothing will move any more unless somebody does something: a directory run may end. */
function isSettled({ policy, observation }: DecideInput, health: Health, open: number, counts: Counts): boolean {
  // Without the service nothing can be learnt of what is in flight, either.
  if (observation.problem && health.stalled) return true;
  if (open > 0 || health.reconciling) return false;
  return health.ready === 'Unknown' || health.stalled || policy.spec.mode === 'Observe' || outstanding(counts) === 0;
}
