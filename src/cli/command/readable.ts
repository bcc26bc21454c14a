/** Turns the error of a file that cannot be read into an error in the arguments of the command. */
import { systemCode } from '../../base/errors.ts';
import { UsageError } from './usage-error.ts';

/** Returns the result of `read`. If `read` throws, throws a `UsageError` that says that `name` cannot be read. */
export function ifReadable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${systemCode(error) ?? String(error)}`);
  }
}
