/**
 * Lets tests stop the process immediately before or after an external effect, such as sending a request or writing a
 * status.
 */
import { channel } from 'node:diagnostics_channel';

/**
 * Message about an external effect, such as a request. In phase `before`, the request has not been sent yet. In phase
 * `after`, the response has arrived but has not been processed yet.
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
