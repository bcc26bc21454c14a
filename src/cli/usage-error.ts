/**
 * Error in the arguments of a command, such as an unknown kind or conflicting flags. The program prints the message with the name of the
 * command, and ends with exit status 2.
 */
import { LogfleetError } from '../base/errors.ts';

/** Reason of every error that wrong usage of a command line causes, in logfleet and in its simulator. */
export const wrongUsage = 'WrongUsage';

export class UsageError extends LogfleetError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super({ code: 'cli.usage', message, handling: { kind: 'stall' }, reason: wrongUsage });
  }
}
