/** Input of `decide`: everything known about a policy at one moment. */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Instant, PostOutcome, TaskReading } from './attempts/attempt.ts';
import type { TaskReads } from './attempts/watch-plan.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { PolicyMemberIndex } from './members/policy-member-index.ts';
import type { MaintenanceCalendar } from './schedule/maintenance-calendar.ts';
import type { PolicySettings } from './settings.ts';

/** Selected collectors that belong to other policies. */
export interface Overlap {
  /** namespace/name of the policy that owns most of them. */
  readonly winner: string;
  readonly collectors: number;
}

/** Read-only part of the shared listing that a decision uses. */
export type ListingFacts = Pick<
  FleetListing,
  'row' | 'pageOf' | 'pageReadMs' | 'observes' | 'completeSinceMs' | 'sweepMs'
>;

export interface Observation {
  readonly listing: ListingFacts;
  /** Reason why the target is not available, or undefined. */
  readonly notOffered: string | undefined;
  /** Whether a build becomes the target as soon as it is old enough (`minAge`). */
  readonly awaitsBuild?: boolean;
  /** Outcomes of POSTs since the last written decision, by collector. */
  readonly posted: ReadonlyMap<string, PostOutcome>;
  /** Readings of tasks since the last written decision, by collector. */
  readonly tasks: ReadonlyMap<string, TaskReading>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /** Collectors with a POST of this process in flight. */
  readonly inFlight: ReadonlySet<string>;
  /** Number of attempts that were written ahead and not sent. They are withdrawn when nothing may start any more. */
  readonly unsent: number;
  /** Number of attempts that may be written ahead now. */
  readonly room: number;
  /** Text for what must happen before anything may start; undefined when nothing must. */
  readonly heldBy: string | undefined;
  /** Error that prevents the use of the service or its credentials. */
  readonly problem: LogfleetError | undefined;
  readonly ledgerFull: boolean;
  /** Whether a ledger of this policy was ever written. From then on each change is written. */
  readonly isLedgerWritten: boolean;
  readonly typicalMs: number | undefined;
  readonly overlap: Overlap | undefined;
  /** Setting that pauses all policies of this operator; undefined when they are not paused. */
  readonly pausedForAll: string | undefined;
  /** Reason why no policy may start an upgrade: an unusable manifest (D1). Absent when there is none. */
  readonly policiesHold?: string | undefined;
}

export interface DecideInput {
  readonly policy: CollectorVersionPolicy;
  readonly ledger: Ledger;
  readonly memberIndex: PolicyMemberIndex;
  readonly observation: Observation;
  readonly calendar: MaintenanceCalendar;
  readonly now: Instant;
  readonly settings: PolicySettings;
}
