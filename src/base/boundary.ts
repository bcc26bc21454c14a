/**
 * Named boundaries of effects. Each effect that leaves the process (a call to the service, a write of status or ledger)
 * passes through `crossing`, which announces `before` and `after` on a diagnostics channel. Nobody listens in production;
 * tests do, and stop the process exactly there.
 */
import { channel } from 'node:diagnostics_channel';

/** `before`: nothing has left the process yet. `after`: the answer is known to the process, nothing was done with it yet. */
export interface BoundaryMessage {
  readonly name: string;
  readonly phase: 'before' | 'after';
}

const boundaries = channel('logfleet:boundary');

export async function crossing<T>(name: string, effect: () => Promise<T>): Promise<T> {
  if (!boundaries.hasSubscribers) return effect();
  boundaries.publish({ name, phase: 'before' } satisfies BoundaryMessage);
  const result = await effect();
  boundaries.publish({ name, phase: 'after' } satisfies BoundaryMessage);
  return result;
}
