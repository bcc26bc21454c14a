/** Input of `decide`: everything that is known about a policy at one moment. */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import type { Instant } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import type { FleetListing } from '../../fleet/fleet-listing.ts';
import type { UpgradeTask } from '../../service/collectors/upgrade-service.ts';
import type { AnalysisReading } from '../analysis/message-counter.ts';
import type { PostOutcome } from '../attempts/attempt.ts';
import type { PolicySettings } from '../attempts/settings.ts';
import type { TaskReads } from '../attempts/watch-plan.ts';
import type { LedgerView } from '../ledger/ledger.ts';
import type { MemberView } from '../members/policy-member-index.ts';
import type { WindowsNow } from '../schedule/maintenance-calendar.ts';
import type { WaitCause } from './wait-cause.ts';

/** Collectors that this policy selects but that belong to other policies. */
export interface Overlap {
  /** Other policy (namespace/name) that owns the largest number of the overlapping collectors. */
  readonly winner: string;
  readonly collectors: number;
}

/** Read-only view of the list of collectors, as used by decisions. */
export type ListingView = Pick<
  FleetListing,
  'row' | 'pageOf' | 'pageReadMs' | 'observes' | 'completeSinceMs' | 'sweepMs'
>;

export interface Observation {
  readonly listing: ListingView;
  /** Message about a target version that the service does not offer; undefined if the service offers it. */
  readonly notOffered: string | undefined;
  /** True if a newer build becomes the target as soon as it reaches `minAge`. */
  readonly awaitsBuild?: boolean;
  /** Responses to upgrade requests that this decision evaluates, by collector id. */
  readonly posted: ReadonlyMap<string, PostOutcome>;
  /** Statuses of upgrade tasks that this decision evaluates, by collector id. */
  readonly tasks: ReadonlyMap<string, UpgradeTask>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /**
   * Newest message counts for a stage, or the error from the last attempt to count. Undefined until an attempt has
   * ended.
   */
  readonly messages: AnalysisReading | undefined;
  /** Collectors with an unsent or unanswered upgrade request from this process. */
  readonly inFlight: ReadonlySet<string>;
  /** Collectors whose upgrade requests were rejected without a known reason (U11). */
  readonly rejected: ReadonlySet<string>;
  /** Number of upgrades in the ledger whose requests have not been sent yet. */
  readonly unsent: number;
  /** Maximum number of upgrades that this decision may start. */
  readonly batchCapacity: number;
  /** Reason why no upgrade may start; undefined if upgrades may start. */
  readonly heldBy: WaitCause | undefined;
  /** Error that prevents the use of the service or its credentials. */
  readonly problem: LogfleetError | undefined;
  readonly ledgerFull: boolean;
  /** True if a ledger is stored for this policy, as far as this process knows. */
  readonly isLedgerWritten: boolean;
  readonly typicalMs: number | undefined;
  /** True if the status may be written now even if only its counts have changed. */
  readonly areFiguresDue: boolean;
  readonly overlap: Overlap | undefined;
  /** Name of the setting that pauses all policies of this operator. Undefined if they are not paused. */
  readonly pausedForAll: string | undefined;
  /** Reason why no policy may start upgrades, such as an unusable manifest (D1). */
  readonly upgradesBlocked?: string | undefined;
}

export interface DecideInput {
  readonly policy: CollectorVersionPolicy;
  readonly ledger: LedgerView;
  readonly memberIndex: MemberView;
  readonly observation: Observation;
  readonly windows: WindowsNow;
  readonly now: Instant;
  readonly settings: PolicySettings;
}
