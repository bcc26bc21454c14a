/** Assertions about the program itself. A failure is a bug of logfleet. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}

/** Default case of a `switch` over all values of a type. A missing case does not compile. */
export function unreachable(value: never): never {
  throw new LogfleetError({
    code: 'bug.unreachable',
    message: `unexpected value ${JSON.stringify(value)}`,
    handling: { kind: 'bug' },
  });
}
