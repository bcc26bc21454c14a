/** What can go wrong with a destination: one table of codes, reasons of conditions, and how to go on. */
import { type Handling, LogfleetError } from '../base/errors.ts';

const kinds = {
  /** No room, no quota left. Whoever makes room lets the export go on. */
  full: { reason: 'DestinationFull', handling: { kind: 'wait' } },
  /** It does not answer, or says that it cannot now. */
  away: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
  denied: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  credentials: { reason: 'DestinationCredentialsInvalid', handling: { kind: 'stall' } },
  /** The root itself: no such directory, no such bucket. */
  missing: { reason: 'DestinationNotFound', handling: { kind: 'stall' } },
  /** It lacks what the protocol needs, or what was asked for. */
  unsupported: { reason: 'DestinationUnsupported', handling: { kind: 'stall' } },
  /** A setting that cannot be right. */
  invalid: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A name that might lead outside, or that no destination could keep. */
  name: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** Something in it leads outside its root. */
  outside: { reason: 'DestinationInvalid', handling: { kind: 'stall' } },
  /** A file that was asked for is not there. */
  absent: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** What stands there is not what logfleet wrote. */
  damaged: { reason: 'DestinationDamaged', handling: { kind: 'stall' } },
  /** It is there, and has to be restored before it can be read, as from an archive. */
  frozen: { reason: 'DestinationAccessDenied', handling: { kind: 'stall' } },
  /** What is asked for has more pieces than can be committed: another export has to ask for it in another way. */
  tooMuch: { reason: 'InvalidSpec', handling: { kind: 'stall' } },
  /** Somebody removed an upload while it ran. */
  lost: { reason: 'DestinationUnavailable', handling: { kind: 'backoff' } },
} satisfies Record<string, { readonly reason: string; readonly handling: Handling }>;

export type DestinationFailure = keyof typeof kinds;

/** An error with the code `destination.<failure>`. */
export function destinationError(failure: DestinationFailure, message: string, cause?: unknown): LogfleetError {
  return new LogfleetError({ code: `destination.${failure}`, message, cause, ...kinds[failure] });
}

/** An object that is larger than any of logfleet's; `bytes` is for people. */
export function tooLarge(name: string, bytes: string, mostBytes: number): LogfleetError {
  return destinationError('damaged', `${name} has ${bytes} bytes, and ${mostBytes} are the most for such a file`);
}

/** Of a data file: their names are nobody else's. */
export function nameTaken(name: string): LogfleetError {
  return destinationError('damaged', `${name} exists already, which no upload of logfleet made: move it away`);
}

/** Of an object that is written once and removed by nobody. */
export function goneAgain(name: string, url: string): LogfleetError {
  return destinationError('away', `${name} in ${url} stood there, and is gone again`);
}
