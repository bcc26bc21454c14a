/** A ledger that is not what logfleet wrote (U1): what is wrong with it, what that means, and what a person can do. */
import { LogfleetError } from '../base/errors.ts';

/** Where the shards of one ledger stand, for people. */
export interface LedgerPlace {
  /** The shards, to go on from "Restore". */
  readonly shards: string;
  /** The command that deletes them. */
  readonly remove: string;
}

export class UnreadableLedger extends LogfleetError {
  /** What is wrong with it, to go on from "cannot be read:". */
  readonly why: string;

  /** @param place undefined where it is not known which resource has the ledger */
  constructor(why: string, place?: LedgerPlace, cause?: unknown) {
    super({
      code: 'ledger.unreadable',
      reason: 'LedgerUnreadable',
      message: messageOf(why, place),
      handling: { kind: 'stall' },
      ...(cause === undefined ? {} : { cause }),
    });
    this.why = why;
  }
}

function messageOf(why: string, place: LedgerPlace | undefined): string {
  const what = `The ledger of upgrade attempts cannot be read: ${why}. Nothing is started, since upgrades that run would be started again.`;
  const how = place === undefined ? '' : `: ${place.remove}`;
  const shards = place?.shards ?? 'it';
  return `${what} Restore ${shards} from a backup. Without one, wait for 35 minutes, so that no upgrade runs, and delete ${place ? 'them' : 'it'}${how}. The rollout then begins anew with all its retries.`;
}
