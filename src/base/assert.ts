/** Assertions about the program itself. A failure is a bug of logfleet, never an error of the user. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}

/** Fails at compile time while a `switch` over all values of a type lacks a case. The call stands at the end of the `switch`. */
export function unreachable(value: never): never {
  throw new LogfleetError({
    code: 'bug.unreachable',
    message: `unexpected value ${JSON.stringify(value)}`,
    handling: { kind: 'bug' },
  });
}
