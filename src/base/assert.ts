/** Checks of what must hold whatever the input: a failure is a bug of ours, never of a user's. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}

/** Ends an exhaustive switch: the compiler refuses the call while a case is missing. */
export function unreachable(value: never): never {
  throw new LogfleetError({
    code: 'bug.unreachable',
    message: `unexpected value ${JSON.stringify(value)}`,
    handling: { kind: 'bug' },
  });
}
