/** Objects that all policies of this process share. */
import type { Accounts } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Fleets } from '../fleet/fleets.ts';
import type { Host, ResourceKey } from '../host/host.ts';
import type { AttemptCounter } from './attempts/attempt-counter.ts';
import type { ClaimTurns } from './members/claim-turns.ts';
import type { PolicySettings } from './settings.ts';

export interface PolicyEnvironment {
  readonly host: Host;
  /** Accounts of the service, shared in this process so that one user has one request budget. The caller closes the accounts. */
  readonly accounts: Accounts;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PolicySettings;
  readonly turns: ClaimTurns;
  readonly attempts: AttemptCounter;
  /** Requests another reconcile of this policy from the controller. */
  readonly enqueue: (key: ResourceKey) => void;
  /** Whether this process is about to end and starts no new upgrades. */
  readonly draining: () => boolean;
}
