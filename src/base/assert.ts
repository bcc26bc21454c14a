/** Assertions about the program itself. A failure is a bug of logfleet. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}

/** Makes the compiler check that a `switch` has all cases. Call it in the default case. */
export function unreachable(value: never): never {
  throw new LogfleetError({
    code: 'bug.unreachable',
    message: `unexpected value ${JSON.stringify(value)}`,
    handling: { kind: 'bug' },
  });
}
