/** Assertions about the program itself. A failure is a bug of logfleet. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}

/** Call this function in the default case of a `switch`. The compiler then checks that the `switch` has all cases. */
export function unreachable(value: never): never {
  throw new LogfleetError({
    code: 'bug.unreachable',
    message: `unexpected value ${JSON.stringify(value)}`,
    handling: { kind: 'bug' },
  });
}
