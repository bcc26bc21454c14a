/** Simulates the whole operator with one policy and a few collectors. */
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import { policiesPath, World } from '../../support/world.ts';

export const [before, middle, target] = ['19.100-1', '19.120-1', '19.200-1'] as const;

export interface StagedSetting {
  readonly count?: number;
  readonly scenario?: Partial<Scenario>;
  readonly stages?: readonly object[];
  readonly spec?: object;
}

/** A canary stage with three collectors and no soak. */
export const canary = { name: 'canary', size: 3, soakDuration: '0s' };
export const rest = { name: 'rest', soakDuration: '0s' };

/** Creates 30 collectors, and a policy that upgrades them in two stages. */
export function staged({ count = 30, scenario = {}, stages = [canary, rest], spec = {} }: StagedSetting = {}) {
  const world = new World({
    scenario: {
      builds: [before, middle, target],
      groups: { web: { count, version: before, timeZone: 'Europe/Berlin' } },
      upgrade: { duration: '2m' },
      ...scenario,
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: target },
    offlinePolicy: 'Skip',
    strategy: { maxInProgress: 1000, order: 'Name', stages },
    retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
    ...spec,
  });
  const snapshot = () => world.snapshot();
  const status = () => world.policy('production')?.status;
  const patch = (change: object) => world.api.patch(`${policiesPath}/production`, change);
  return {
    world,
    snapshot,
    status,
    patch,
    tasks: () => snapshot().tasks,
    at: (version: string) => snapshot().collectors.filter((one) => one.version === version).length,
    stage: (name: string) => status()?.stages?.find((one) => one.name === name),
    annotate: (name: string, value: string) => patch({ metadata: { annotations: { [name]: value } } }),
    untilReason: (reason: string, atMostMs = 2 * hourMs) =>
      world.until(() => world.ready('production')?.reason === reason, atMostMs),
  };
}
