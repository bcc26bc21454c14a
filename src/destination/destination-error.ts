/**
 * Errors of destinations. Each failure has an error code, a reason for status conditions, and a rule that tells the operator how to handle
 * it.
 */
import { type Handling, LogfleetError } from '../base/errors.ts';

const kinds = {
  /** The destination has no space or quota left. The export continues when there is space again. */
  full: { reason: 'DestinationFull', handling: { kind: 'wait' } },
  /** The destination does not answer, or is temporarily unavailable. */
  away: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
  denied: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  credentials: { reason: 'DestinationCredentialsInvalid', handling: { kind: 'stall' } },
  /** The root of the destination does not exist: no such directory or bucket. */
  missing: { reason: 'DestinationNotFound', handling: { kind: 'stall' } },
  /** The destination lacks a feature that logfleet or the export's spec requires. */
  unsupported: { reason: 'DestinationUnsupported', handling: { kind: 'stall' } },
  /** A setting of the export's destination is wrong. */
  invalid: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A file name is not valid at a destination, for example because it could lead out of the destination's root. */
  name: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A symbolic link in a path leads out of the destination's root. */
  outside: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A file that must exist does not exist at the destination. */
  absent: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** An object at the destination differs from the object that logfleet wrote. */
  damaged: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** An object is in an archive and must be restored before it can be read. */
  frozen: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  /** The export has more data files or intervals than logfleet can list in one object, so a user must change the spec. */
  tooMuch: { reason: 'InvalidSpec', handling: { kind: 'stall' } },
  /** Another process has removed an upload that was still running, because it considered the upload abandoned. */
  lost: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
} satisfies Record<string, { readonly reason: string; readonly handling: Handling }>;

export type DestinationFailure = keyof typeof kinds;

/** Creates an error with the code `destination.<failure>`. */
export function destinationError(failure: DestinationFailure, message: string, cause?: unknown): LogfleetError {
  return new LogfleetError({ code: `destination.${failure}`, message, cause, ...kinds[failure] });
}

/** Error for an object that is too large to have been written by logfleet. */
export function tooLarge(name: string, bytes: string, mostBytes: number): LogfleetError {
  return destinationError(
    'damaged',
    `the object ${name} has a size of ${bytes} bytes, but logfleet writes objects of at most ${mostBytes} bytes`,
  );
}

/** Error for a new data file whose name already exists at the destination. */
export function nameTaken(name: string): LogfleetError {
  return destinationError(
    'damaged',
    `the file ${name} already exists, although logfleet did not create it: move the file away`,
  );
}

/** Error for an object that another process has removed, although logfleet itself never removes such objects. */
export function disappeared(name: string, url: string): LogfleetError {
  return destinationError('away', `${name} in ${url} existed, but has disappeared`);
}
