/** Errors of the file system, by their code: what a person is told, and how to go on. */
import type { LogfleetError } from '../../base/errors.ts';
import { type DestinationFailure, destinationError } from '../destination-error.ts';

interface DiskFailure {
  readonly failure: DestinationFailure;
  readonly advice: string;
}

const full: DiskFailure = { failure: 'full', advice: 'make room, and the export goes on' };
const denied: DiskFailure = { failure: 'denied', advice: 'let the user that logfleet runs as write there' };
const away: DiskFailure = { failure: 'away', advice: 'logfleet tries again' };
const failureByCode: ReadonlyMap<string, DiskFailure> = new Map([
  ['ENOSPC', full],
  ['EDQUOT', full],
  ['EFBIG', { failure: 'full', advice: 'raise the limit on the size of files, or make maxPartSize smaller' }],
  ['EACCES', denied],
  ['EPERM', denied],
  ['EROFS', { failure: 'denied', advice: 'mount the volume so that it can be written to' }],
]);

/** Where Node says that it failed: often by way of an open folder, `/proc/self/fd/22/x`, which nobody can look at. */
const ownPlace = /, \w+ '[^']*'(?: -> '[^']*')?$/;

/** `act` names what failed, as `write` or `read`; `path` where. */
export function diskError(act: string, path: string, cause: unknown): LogfleetError {
  const code = codeOf(cause) ?? '';
  const { failure, advice } = failureByCode.get(code) ?? away;
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(ownPlace, '');
  return destinationError(failure, `cannot ${act} ${path}: ${reason}; ${advice}`, cause);
}

/** `ENOENT` and its like. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
