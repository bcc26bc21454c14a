/** What becomes of upgrades when a run is interrupted: the service cannot cancel them, and nothing of them is forgotten. */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import { counted } from './counted.ts';

export function renderInterruption(statuses: readonly (CollectorVersionPolicyStatus | undefined)[]): string {
  const running = statuses.reduce((sum, status) => sum + (status?.collectors?.inProgress ?? 0), 0);
  if (running === 0) return 'interrupted; no upgrade is under way, and the next start goes on from here';
  const [goOn, them] = running === 1 ? ['goes on', 'it'] : ['go on', 'them'];
  return `interrupted; ${counted(running, 'upgrade')} ${goOn} at the service, and the next start follows ${them}`;
}
