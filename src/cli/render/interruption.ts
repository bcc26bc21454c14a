/**
 * Message about an interrupted run. Upgrades continue at the service, since they cannot be cancelled. Committed intervals of exports stay.
 * The next start continues both.
 */
import type { AnyResource } from '../resources/resource-reader.ts';
import { counted } from './counted.ts';

/** `flags` are those that the next start needs to continue the same export. */
export function renderInterruption(resources: readonly AnyResource[], flags = ''): string {
  const running = resources.reduce((sum, resource) => sum + inProgressOf(resource), 0);
  if (running > 0) {
    const [goOn, them] = running === 1 ? ['continues', 'it'] : ['continue', 'them'];
    return `interrupted; ${counted(running, 'upgrade')} ${goOn} at the service, and the next start follows ${them}`;
  }
  const areExports = resources.length > 0 && resources.every(({ kind }) => kind === 'SearchExport');
  const stands = areExports ? 'committed intervals stay' : 'no upgrade is in flight';
  return `interrupted; ${stands}, and the next start${flags === '' ? '' : ` with ${flags}`} continues from here`;
}

function inProgressOf(resource: AnyResource): number {
  return resource.kind === 'CollectorVersionPolicy' ? (resource.status?.collectors?.inProgress ?? 0) : 0;
}
