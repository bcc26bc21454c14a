/**
 * Runs a whole rollout in virtual time with the real operator and simulated services. Usage: `node virtual-rollout.ts
 * '{"collectors": …}'`. Prints the results as a line of JSON.
 */
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { World } from '../../test/support/world.ts';

export interface RolloutCase {
  readonly collectors: number;
  /** Maximum number of rows on a page of the collector list. */
  readonly pageRows: number;
  readonly oldVersions: number;
  /** True if the service offers a build that no collector runs and no policy targets (U7). */
  readonly spareBuild: boolean;
}

export interface RolloutFigures extends RolloutCase {
  /** True if all collectors reached the target version. */
  readonly complete: boolean;
  readonly requests: number;
  readonly requestsByOperation: Readonly<Record<string, number>>;
  readonly requestsPerCollector: number;
  /** Time in virtual seconds from the creation of the policy to the end of the last upgrade. */
  readonly lastUpgradedSeconds: number;
  /** Time in virtual seconds from the creation of the policy until its `Ready` condition is `True`. */
  readonly readySeconds: number;
  /**
   * Target for the time until the last upgrade ends, in seconds. The request limit and the number of parallel upgrades
   * determine a minimum time. The target is 1.05 times this minimum, plus the duration of one upgrade.
   */
  readonly allowedSeconds: number;
  readonly maxPerSecond: number;
  readonly maxAtOnce: number;
  readonly refused429: number;
  readonly acceptedTasks: number;
  readonly apiRequests: number;
}

const target = '19.500-1';
const upgradeSeconds = 180;
const maxInProgress = 1_000;
const requestsPerSecond = 4;
const tolerance = 1.05;
const longestMs = 48 * 60 * minuteMs;

export function fleetScenario({ collectors, pageRows, oldVersions, spareBuild }: RolloutCase): Scenario {
  const versions = Array.from({ length: oldVersions }, (_, index) => `19.${300 + 20 * index}-1`);
  return {
    builds: [...(spareBuild ? ['19.200-1'] : []), ...versions, target],
    list: { maxLimit: pageRows },
    upgrade: { duration: `${upgradeSeconds}s` },
    groups: { web: { count: collectors, name: 'web-######', versions } },
  };
}

async function rollOut(rollout: RolloutCase): Promise<RolloutFigures> {
  const world = new World({ scenario: fleetScenario(rollout) });
  world.addSecret();
  world.addPolicy('fleet', { target: { version: target }, strategy: { maxInProgress, order: 'OldestVersionFirst' } });
  const record = new RunningTotals(world);
  world.start();
  const isDone = () => record.look() && world.ready('fleet')?.status === 'True';
  await world.until(isDone, longestMs);
  const readySeconds = world.clock.monotonic() / 1_000;
  record.take();
  const state = world.snapshot();
  const endsMs = state.tasks.map(({ collectorEndTime }) => collectorEndTime ?? Number.NaN);
  const { requests, maxPerSecond, maxInFlight, rejected429, tasksAccepted } = state.counters;
  const slots = Math.ceil(rollout.collectors / maxInProgress) * upgradeSeconds;
  return {
    ...rollout,
    complete: state.collectors.every(({ version }) => version === target),
    requests,
    requestsByOperation: record.operations,
    requestsPerCollector: requests / rollout.collectors,
    lastUpgradedSeconds: (endsMs.reduce((last, endMs) => Math.max(last, endMs), 0) - world.model.startMs) / 1_000,
    readySeconds,
    allowedSeconds: tolerance * Math.max(requests / requestsPerSecond, slots) + upgradeSeconds,
    maxPerSecond: maxPerSecond,
    maxAtOnce: maxInFlight,
    refused429: rejected429,
    acceptedTasks: tasksAccepted,
    apiRequests: record.apiRequests,
  };
}

/** Counts the requests in the simulator's journal, and then removes them from the journal to save memory. */
class RunningTotals {
  readonly operations: Record<string, number> = {};
  apiRequests = 0;
  readonly #world: World;
  #takenMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  look(): boolean {
    if (this.#world.clock.monotonic() - this.#takenMs >= minuteMs) this.take();
    return true;
  }

  take(): void {
    const { api, journal, clock } = this.#world;
    this.#takenMs = clock.monotonic();
    for (const { operation } of journal.splice(0)) {
      const name = operation ?? 'other';
      this.operations[name] = (this.operations[name] ?? 0) + 1;
    }
    this.apiRequests += api.requests.splice(0).length;
    api.compact();
  }
}

if (import.meta.main) {
  console.log(JSON.stringify(await rollOut(JSON.parse(process.argv[2] as string) as RolloutCase)));
  process.exit();
}
