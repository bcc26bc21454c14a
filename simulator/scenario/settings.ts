/**
 * Simulator settings: a scenario with defaults for all absent members. The defaults follow docs/service.md or, where
 * the service's documentation is ambiguous, section 10.5 of that file.
 */
import { compareBuildVersions, parseBuildVersion } from '../../src/base/build-version.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { durationMs, type Span, spanOf } from '../base/span.ts';
import type {
  BuildScenario,
  ErrorScenario,
  FaultScenario,
  LimitScenario,
  ListScenario,
  OutcomeScenario,
  Scenario,
  SimulatedOperation,
  TaskScenario,
  UpgradeScenario,
} from './scenario.ts';
import { type SearchSettings, searchSettings } from './search-settings.ts';

export interface AccessKey {
  readonly user: string;
  readonly accessId: string;
  readonly accessKey: string;
  readonly forbidden: boolean | readonly SimulatedOperation[];
  readonly groups: readonly string[] | undefined;
  /** The user's organisation. All users in an organisation share one limit on search jobs. */
  readonly organisation: string;
}

export interface BuildSettings {
  readonly version: string;
  readonly latest: boolean;
}

/** Effect of a build on the messages of the collectors that run the build. Each value is a fraction from 0 to 1. */
export type ShippingFault = Required<Pick<BuildScenario, 'stopsShipping' | 'drops'>>;

export interface UpgradeOutcome extends Required<Pick<OutcomeScenario, 'share' | 'end' | 'message'>> {
  readonly status: number | undefined;
  readonly duration: Span | undefined;
  readonly attempts: number;
  readonly toVersion: string | undefined;
}

export interface UpgradeSettings
  extends Required<
    Pick<UpgradeScenario, 'increments' | 'lockUntil' | 'toRunningVersion' | 'withoutVersion' | 'progressingStatus'>
  > {
  readonly duration: Span;
  readonly notStartedForMs: number;
  readonly pendingForMs: number;
  readonly timeoutMs: number;
  readonly lockDelayMs: number;
  readonly outcomes: readonly UpgradeOutcome[];
}

export interface Fault extends Omit<FaultScenario, 'from' | 'until' | 'delay' | 'lag'> {
  readonly name: string;
  /**
   * Definition of the fault in the scenario, as JSON. If the definition changes, the count of requests that match the
   * fault restarts at 1.
   */
  readonly rule: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly delay: Span | undefined;
  readonly lagMs: number | undefined;
}

export interface Settings {
  readonly seed: number;
  readonly timeScale: number;
  readonly basePaths: readonly string[];
  readonly accessKeys: ReadonlyMap<string, AccessKey>;
  readonly builds: readonly BuildSettings[];
  readonly latestVersion: string | undefined;
  /** Effects of builds on messages, by version. */
  readonly shippingFaults: ReadonlyMap<string, ShippingFault>;
  readonly firstCollectorId: bigint;
  readonly firstTaskId: bigint;
  readonly upgrade: UpgradeSettings;
  readonly search: SearchSettings;
  readonly list: Required<Omit<ListScenario, 'lag'>> & { readonly lagMs: number };
  readonly task: Required<TaskScenario>;
  readonly limits: Required<Omit<LimitScenario, 'retryAfter'>> & { readonly retryAfter: number | undefined };
  /**
   * Maximum number of active search jobs, by organisation. For organisations that are not in this map,
   * `limits.activeJobs` applies.
   */
  readonly activeJobs: ReadonlyMap<string, number>;
  readonly errors: Required<ErrorScenario>;
  readonly latency: Span;
  readonly aliveForMs: number;
  readonly faults: readonly Fault[];
}

const upgradeDefaults: UpgradeSettings = {
  duration: { minMs: 3 * minuteMs, maxMs: 3 * minuteMs },
  increments: 1,
  notStartedForMs: 1_000,
  pendingForMs: 5_000,
  timeoutMs: 30 * minuteMs,
  lockDelayMs: 0,
  lockUntil: 'end',
  toRunningVersion: 'accept',
  withoutVersion: 'latest',
  progressingStatus: 6,
  outcomes: [],
};

/** Credentials of the only user if the scenario defines no users. */
export const defaultCredentials = { accessId: 'simulator', accessKey: 'simulator-key' } as const;

export function settingsOf(scenario: Scenario): Settings {
  const builds = buildsOf(scenario.builds ?? []);
  return {
    seed: scenario.seed ?? 1,
    timeScale: scenario.timeScale ?? 1,
    basePaths: scenario.basePaths ?? ['/api'],
    accessKeys: accessKeysOf(scenario),
    builds,
    latestVersion: builds.find(({ latest }) => latest)?.version,
    shippingFaults: shippingFaultsOf(scenario.builds ?? []),
    firstCollectorId: BigInt(scenario.ids?.firstCollector ?? 100_000_001),
    firstTaskId: BigInt(scenario.ids?.firstTask ?? 200_001),
    upgrade: upgradeSettings(scenario.upgrade ?? {}, upgradeDefaults),
    search: searchSettings(scenario.search ?? {}),
    list: listSettings(scenario.list ?? {}),
    task: {
      requestTimeUnit: scenario.task?.requestTimeUnit ?? 'ms',
      requestTimeMember: scenario.task?.requestTimeMember ?? 'requestTime',
      omit: scenario.task?.omit ?? [],
    },
    limits: {
      requestsPerSecond: scenario.limits?.requestsPerSecond ?? 4,
      concurrentRequests: scenario.limits?.concurrentRequests ?? 10,
      activeJobs: scenario.limits?.activeJobs ?? 200,
      retryAfter: scenario.limits?.retryAfter,
      countRefused: scenario.limits?.countRefused ?? false,
    },
    activeJobs: new Map(
      Object.entries(scenario.organisations ?? {}).flatMap(([name, { activeJobs }]) =>
        activeJobs === undefined ? [] : [[name, activeJobs]],
      ),
    ),
    errors: {
      shape: scenario.errors?.shape ?? 'object',
      codePrefix: scenario.errors?.codePrefix ?? '',
      searchCodePrefix: scenario.errors?.searchCodePrefix ?? 'searchjob.',
    },
    latency: spanOf(scenario.latency) ?? { minMs: 0, maxMs: 0 },
    aliveForMs: durationMs(scenario.aliveFor) ?? 30 * minuteMs,
    faults: Object.entries(scenario.faults ?? {}).map(([name, fault]) => faultOf(name, fault)),
  };
}

/** Returns a copy of `settings` in which the settings defined in `scenario` replace the originals. */
export function upgradeSettings(scenario: UpgradeScenario, settings: UpgradeSettings): UpgradeSettings {
  return {
    duration: spanOf(scenario.duration) ?? settings.duration,
    increments: scenario.increments ?? settings.increments,
    notStartedForMs: durationMs(scenario.notStartedFor) ?? settings.notStartedForMs,
    pendingForMs: durationMs(scenario.pendingFor) ?? settings.pendingForMs,
    timeoutMs: durationMs(scenario.timeout) ?? settings.timeoutMs,
    lockDelayMs: durationMs(scenario.lockDelay) ?? settings.lockDelayMs,
    lockUntil: scenario.lockUntil ?? settings.lockUntil,
    toRunningVersion: scenario.toRunningVersion ?? settings.toRunningVersion,
    withoutVersion: scenario.withoutVersion ?? settings.withoutVersion,
    progressingStatus: scenario.progressingStatus ?? settings.progressingStatus,
    outcomes: scenario.outcomes?.map(outcomeOf) ?? settings.outcomes,
  };
}

function outcomeOf(outcome: OutcomeScenario): UpgradeOutcome {
  return {
    share: outcome.share ?? 1,
    end: outcome.end,
    message: outcome.message ?? (outcome.end === 'fail' ? 'The upgrade failed.' : ''),
    status: outcome.status,
    duration: spanOf(outcome.duration),
    attempts: outcome.attempts ?? Number.POSITIVE_INFINITY,
    toVersion: outcome.toVersion,
  };
}

function listSettings(scenario: ListScenario): Settings['list'] {
  return {
    atTarget: scenario.atTarget ?? false,
    hosted: scenario.hosted ?? false,
    maxLimit: scenario.maxLimit ?? 1_000,
    aboveMaxLimit: scenario.aboveMaxLimit ?? 'cut',
    order: scenario.order ?? 'id',
    lagMs: durationMs(scenario.lag) ?? 0,
  };
}

function faultOf(name: string, scenario: FaultScenario): Fault {
  const { from, until, delay, lag, ...fault } = scenario;
  return {
    ...fault,
    name,
    rule: JSON.stringify(scenario),
    fromMs: durationMs(from) ?? 0,
    untilMs: durationMs(until) ?? Number.POSITIVE_INFINITY,
    delay: spanOf(delay),
    lagMs: durationMs(lag),
  };
}

function accessKeysOf(scenario: Scenario): Map<string, AccessKey> {
  const { accessId, accessKey } = defaultCredentials;
  const users = scenario.users ?? { [accessId]: { keys: { [accessId]: accessKey } } };
  const keys = new Map<string, AccessKey>();
  for (const [user, { keys: ofUser, forbidden = false, groups, organisation = '' }] of Object.entries(users)) {
    for (const [id, key] of Object.entries(ofUser))
      keys.set(id, { user, accessId: id, accessKey: key, forbidden, groups, organisation });
  }
  return keys;
}

/** Returns the builds. The newest build is marked `latest`, unless an entry sets `latest`. */
function buildsOf(entries: readonly (string | BuildScenario)[]): BuildSettings[] {
  const builds = entries.map((entry) => (typeof entry === 'string' ? { version: entry } : entry));
  const stated = builds.some(({ latest }) => latest !== undefined);
  const newest = builds.reduce<string | undefined>((best, { version }) => newerOf(best, version), undefined);
  return builds.map(({ version, latest }) => ({ version, latest: stated ? latest === true : version === newest }));
}

function shippingFaultsOf(entries: readonly (string | BuildScenario)[]): Map<string, ShippingFault> {
  return new Map(
    entries.flatMap((entry) => {
      if (typeof entry === 'string') return [];
      const { version, stopsShipping = 0, drops = 0 } = entry;
      return [[version, { stopsShipping, drops }]];
    }),
  );
}

function newerOf(left: string | undefined, right: string): string {
  if (left === undefined) return right;
  const [former, latter] = [parseBuildVersion(left), parseBuildVersion(right)];
  return former && latter && compareBuildVersions(former, latter) > 0 ? left : right;
}
