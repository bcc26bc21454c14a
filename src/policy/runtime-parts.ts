import type { OwnerRef } from '../host/host.ts';
import type { MessageCounter } from './analysis/message-counter.ts';
import type { Posting } from './attempts/posting.ts';
import type { TaskReadings } from './attempts/task-reading.ts';
import type { UpgradeDuration } from './attempts/upgrade-duration.ts';
import type { KeptLedger } from './ledger/kept-ledger.ts';
import type { KeptMemberIndex } from './members/kept-member-index.ts';
import type { PolicyEnvironment } from './policy-environment.ts';
import type { KeptCalendar } from './schedule/maintenance-calendar.ts';
import type { ServiceBinding } from './service-binding.ts';
import type { StatusPublisher } from './status/status-publisher.ts';

/** Parts of a policy's runtime that both `gather` and `apply` use. */
export interface RuntimeParts {
  readonly owner: OwnerRef;
  readonly environment: PolicyEnvironment;
  readonly binding: ServiceBinding;
  readonly kept: KeptLedger;
  readonly memberIndex: KeptMemberIndex;
  readonly posting: Posting;
  readonly tasks: TaskReadings;
  readonly messages: MessageCounter;
  readonly publisher: StatusPublisher;
  readonly duration: UpgradeDuration;
  readonly calendar: KeptCalendar;
  /** Frees the parts that only upgrades need. */
  readonly rest: () => void;
}
