/** Error in the arguments of a command. The program ends with exit status 2. */
import { LogfleetError } from '../base/errors.ts';

/** Reason of all errors from wrong usage of a command line. */
export const wrongUsage = 'WrongUsage';

export class UsageError extends LogfleetError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super({ code: 'cli.usage', message, handling: { kind: 'stall' }, reason: wrongUsage });
  }
}
