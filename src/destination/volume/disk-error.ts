/** Classifies file system errors, and adds a remedy for users. */
import { LogfleetError, messageOf, systemCode } from '../../base/errors.ts';
import { type DestinationFailure, destinationError } from '../store/destination-error.ts';

interface DiskFailure {
  readonly failure: DestinationFailure;
  readonly advice: string;
}

const full: DiskFailure = { failure: 'full', advice: 'free some space to continue the export' };
const userId = process.getuid?.();
const denied: DiskFailure = {
  failure: 'denied',
  advice: `grant write access to the user that logfleet runs as${userId === undefined ? '' : ` (uid ${userId})`}`,
};
const away: DiskFailure = { failure: 'away', advice: 'logfleet will try again' };
const failureByCode: ReadonlyMap<string, DiskFailure> = new Map([
  ['ENOSPC', full],
  ['EDQUOT', full],
  [
    'EFBIG',
    { failure: 'full', advice: 'raise the file size limit, or create another export with a smaller maxPartSize' },
  ],
  ['EACCES', denied],
  ['EPERM', denied],
  ['EROFS', { failure: 'denied', advice: 'mount the volume with write access' }],
]);

/** Matches the path at the end of Node.js error messages. Users do not need this path. */
const ownPlace = /, \w+ '[^']*'(?: -> '[^']*')?$/;

/** Returns an error with a remedy. `act` is the action that failed, such as `write`. */
export function diskError(act: string, path: string, cause: unknown): LogfleetError {
  if (cause instanceof LogfleetError) return cause;
  const code = systemCode(cause) ?? '';
  const { failure, advice } = failureByCode.get(code) ?? away;
  const reason = messageOf(cause).replace(ownPlace, '');
  return destinationError(failure, `cannot ${act} ${path}: ${reason}; ${advice}`, cause);
}
