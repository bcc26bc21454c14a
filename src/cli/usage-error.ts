/**
 * Error in the arguments of a command, such as an unknown kind or conflicting flags. The program prints the message with the name of the
 * command, and ends with exit status 2.
 */
import { LogfleetError } from '../base/errors.ts';

/** Reason of all errors for wrong usage. Errors of the simulator have it, too. */
export const wrongUsage = 'WrongUsage';

export class UsageError extends LogfleetError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super({ code: 'cli.usage', message, handling: { kind: 'stall' }, reason: wrongUsage });
  }
}
