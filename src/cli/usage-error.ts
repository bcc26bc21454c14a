/**
 * Wrong usage, found by a command once it looked at its arguments: a kind that is none, flags that exclude each other.
 * The program prints its message with the command's name in front and ends with status 2.
 */
import { LogfleetError } from '../base/errors.ts';

export class UsageError extends LogfleetError {
  override readonly name = 'UsageError';

  constructor(message: string) {
    super({ code: 'cli.usage', message, handling: { kind: 'stall' }, reason: 'WrongUsage' });
  }
}
