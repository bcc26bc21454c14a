/** Parts of one policy's runtime that gathering and applying share. */
import type { Clock } from '../base/clock.ts';
import type { Host, OwnerRef } from '../host/host.ts';
import type { ClaimTurns } from './claim-turns.ts';
import type { KeptCalendar } from './kept-calendar.ts';
import type { KeptLedger } from './kept-ledger.ts';
import type { KeptRoster } from './kept-roster.ts';
import type { Posting } from './posting.ts';
import type { ServiceBinding } from './service-binding.ts';
import type { PolicySettings } from './settings.ts';
import type { StatusPublisher } from './status-publisher.ts';
import type { TaskReadings } from './task-reading.ts';
import type { UpgradeDuration } from './upgrade-duration.ts';

/** Shared parts of a runtime. */
export interface RuntimeParts {
  readonly owner: OwnerRef;
  readonly host: Host;
  readonly clock: Clock;
  readonly settings: PolicySettings;
  readonly turns: ClaimTurns;
  readonly draining: () => boolean;
  readonly binding: ServiceBinding;
  readonly kept: KeptLedger;
  readonly roster: KeptRoster;
  readonly posting: Posting;
  readonly tasks: TaskReadings;
  readonly publisher: StatusPublisher;
  readonly duration: UpgradeDuration;
  readonly calendar: KeptCalendar;
}
