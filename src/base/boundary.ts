/** Lets tests stop the process right before or after an external effect, such as a request or a write of a status. */
import { channel } from 'node:diagnostics_channel';

/**
 * Message about an external effect, such as a request. In phase `before`, the effect has not begun. In phase `after`,
 * the effect has ended, but its result was not used yet.
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
