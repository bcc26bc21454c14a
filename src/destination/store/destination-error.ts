/**
 * Errors of destinations. Each kind of failure has a reason for status conditions, and a rule for how the error is
 * handled.
 */
import { type Handling, LogfleetError } from '../../base/errors.ts';

const kinds = {
  /** The destination is full. The export continues when space is available again. */
  full: { reason: 'DestinationFull', handling: { kind: 'wait' } },
  /** The destination does not respond. */
  away: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
  denied: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  credentials: { reason: 'DestinationCredentialsInvalid', handling: { kind: 'stall' } },
  /** The directory or bucket does not exist. */
  missing: { reason: 'DestinationNotFound', handling: { kind: 'stall' } },
  /** The destination lacks a required feature. */
  unsupported: { reason: 'DestinationUnsupported', handling: { kind: 'stall' } },
  /** A setting for the export's destination is wrong. */
  invalid: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A file name is invalid, for example because it contains the segment `..`. */
  name: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A symbolic link leads outside the destination's folder, so it is not followed. */
  outside: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A required file does not exist. */
  absent: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** The content of a stored object differs from what logfleet wrote. */
  damaged: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** The object is in the store's archive, and must be restored before it can be read. */
  frozen: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  /** The export has too many data files or intervals. A user must change the spec. */
  tooMuch: { reason: 'InvalidSpec', handling: { kind: 'stall' } },
  /** Another process removed a running upload because it seemed abandoned, or created the file. */
  lost: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
} satisfies Record<string, { readonly reason: string; readonly handling: Handling }>;

export type DestinationFailure = keyof typeof kinds;

/** Creates an error with the code `destination.<failure>`. */
export function destinationError(failure: DestinationFailure, message: string, cause?: unknown): LogfleetError {
  return new LogfleetError({ code: `destination.${failure}`, message, cause, ...kinds[failure] });
}

/** Returns the error for an object that is larger than any object logfleet writes. */
export function tooLarge(name: string, bytes: string, maxBytes: number): LogfleetError {
  return destinationError(
    'damaged',
    `the object ${name} has ${bytes} bytes, but objects of this kind that logfleet writes have at most ${maxBytes} bytes`,
  );
}

/**
 * Returns the error for a data file whose name already exists. In Azure, the file may be an empty blob with which another
 * process is removing the unfinished upload. The next attempt uses another name.
 */
export function nameTaken(name: string): LogfleetError {
  return destinationError(
    'lost',
    `another process created the file ${name} before logfleet finished it, so logfleet will write another file`,
  );
}

/**
 * Returns the error for a missing object that logfleet itself never removes, so a user or another program must have
 * removed it.
 */
export function disappeared(name: string, url: string): LogfleetError {
  return destinationError('away', `${name} has disappeared from ${url}, although logfleet did not remove it`);
}
