/**
 * Lets tests stop the process right before or after an external effect: a request to the log service, or a write of a status or
 * ledger. `crossing` performs the effect, and publishes a message to the tests before and after it.
 */
import { channel } from 'node:diagnostics_channel';

/**
 * Message about one effect of the process. `before`: the request has not left the process yet. `after`: the process has
 * the answer but has not used it yet.
 */
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
