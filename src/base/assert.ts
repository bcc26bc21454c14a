/** Assertions about the program itself. A failure is a bug in logfleet. */
import { LogfleetError } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new LogfleetError({ code: 'bug.assertion', message, handling: { kind: 'bug' } });
}
