/**
 * What becomes of all when a run is interrupted: upgrades go on, since the service cannot cancel them; of an export everything that is
 * committed stays. Nothing of either is forgotten.
 */
import type { AnyResource } from '../resource-access.ts';
import { counted } from './counted.ts';

/** `flags` are what the next start needs so that it is the same. */
export function renderInterruption(resources: readonly AnyResource[], flags = ''): string {
  const running = resources.reduce((sum, resource) => sum + inProgressOf(resource), 0);
  if (running > 0) {
    const [goOn, them] = running === 1 ? ['goes on', 'it'] : ['go on', 'them'];
    return `interrupted; ${counted(running, 'upgrade')} ${goOn} at the service, and the next start follows ${them}`;
  }
  const areExports = resources.length > 0 && resources.every(({ kind }) => kind === 'SearchExport');
  const stands = areExports ? 'what is committed stays' : 'no upgrade is under way';
  return `interrupted; ${stands}, and the next start${flags === '' ? '' : ` with ${flags}`} goes on from here`;
}

function inProgressOf(resource: AnyResource): number {
  return resource.kind === 'CollectorVersionPolicy' ? (resource.status?.collectors?.inProgress ?? 0) : 0;
}
