/** Reasons why upgrades and stages wait, as plain data. `status/wait-text.ts` renders them for the status. */
import type { ResourceKey } from '../../host/host.ts';
import type { ServiceCause } from '../attempts/service-binding.ts';
import type { StageAnalysis } from '../ledger/ledger.ts';
import type { ClosedCause } from '../schedule/maintenance-calendar.ts';

export type WaitCause =
  | ClosedCause
  | ServiceCause
  | {
      readonly kind:
        | 'unusableManifest'
        | 'deletion'
        | 'observeMode'
        | 'stopped'
        | 'notOffered'
        | 'shutdown'
        | 'ledgerFull';
    }
  /** All policies, or only this one, are paused. `by` is the text after "paused by" in the message. */
  | { readonly kind: 'pausedForAll'; readonly by: string }
  | { readonly kind: 'paused'; readonly by: string }
  /** Another policy has not yet reported which collectors it selects (U13). */
  | { readonly kind: 'claims'; readonly policy: ResourceKey }
  | { readonly kind: 'timeZone' | 'backOff' }
  /** A listing must confirm the collector's version before the next upgrade. */
  | { readonly kind: 'versionAfterFailure' | 'secondListing' | 'newerListing' }
  /** The stage or the policy already has the maximum number of running upgrades (`maxInProgress`). */
  | { readonly kind: 'stageLimit'; readonly stage: string; readonly max: number }
  | { readonly kind: 'policyLimit'; readonly max: number }
  /** The policy has the maximum number of open upgrades (U1). */
  | { readonly kind: 'openLimit'; readonly max: number }
  /** The stage has not ended. `offline` is the number of offline collectors for which the stage waits. */
  | { readonly kind: 'stageEnd'; readonly stage: string; readonly offline: number }
  | { readonly kind: 'soak'; readonly stage: string; readonly soakMs: number }
  /** A listing after the soak must confirm that no collector went offline. */
  | { readonly kind: 'soakListing'; readonly stage: string }
  /**
   * The stage's message analysis has no result yet. `error` is the message of the error that prevents the analysis, if
   * any.
   */
  | { readonly kind: 'analysis'; readonly stage: string; readonly error?: string }
  /**
   * A user must examine the stage's failures, because no `maxFailures` applies. `analysis` is the stage's message
   * analysis, if any.
   */
  | {
      readonly kind: 'failures';
      readonly stage: string;
      readonly failed: number;
      readonly analysis: StageAnalysis | undefined;
    }
  | { readonly kind: 'approval'; readonly stage: string }
  /** The stage has no collector to upgrade. A user can skip the stage. */
  | { readonly kind: 'emptyStage'; readonly stage: string }
  /** Used only in forecasts: the stage has no collector, or none of the collectors can ever be upgraded. */
  | { readonly kind: 'stageCollector'; readonly stage: string }
  | { readonly kind: 'anyCollector' }
  | { readonly kind: 'online'; readonly collectors: number };
