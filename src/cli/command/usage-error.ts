/** Error in the arguments of a command. After this error, the program ends with exit status 2. */
import { LogfleetError } from '../../base/errors.ts';

/** The `reason` of every error that is caused by a wrong command line. */
export const wrongUsage = 'WrongUsage';

export class UsageError extends LogfleetError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super({ code: 'cli.usage', message, handling: { kind: 'stall' }, reason: wrongUsage });
  }
}
