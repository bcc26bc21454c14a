/** Assertions about the program itself. A failure is a bug in logfleet. */
import { failure } from './errors.ts';

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw failure('bug', 'bug.assertion', message);
}
