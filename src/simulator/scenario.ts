/**
 * What a scenario may say: everything about the simulated service that a user, a test or the control address can choose.
 * All members are optional; `settings.ts` fills in what is left out. `scenario-schema.ts` is the same in JSON Schema, which
 * is what documents from outside are checked against.
 *
 * Things that come in numbers are maps by name, so that a merge patch can add, change and remove each of them.
 * Durations are Go strings (`1h30m`); ids past 2^53 are written as strings.
 */

import type { LogScenario } from './search/log-scenario.ts';
import type { SearchScenario } from './search/search-scenario.ts';

export const operations = [
  'listCollectors',
  'listBuilds',
  'getTask',
  'createTask',
  'createJob',
  'getJob',
  'listMessages',
  'listRecords',
  'deleteJob',
] as const;
export type Operation = (typeof operations)[number];

export interface Scenario {
  /** Everything that is left to chance comes from this number. */
  readonly seed?: number;
  /** How many times faster upgrades and searches go. Limits, keep-alives, lags and events keep their pace. */
  readonly timeScale?: number;
  /** Where the service stands on its host; the first is the one that is printed. */
  readonly basePaths?: readonly string[];
  /** By name of the user, who owns the rate limit. */
  readonly users?: Readonly<Record<string, UserScenario>>;
  /** By the name that users carry as their `organisation`. */
  readonly organisations?: Readonly<Record<string, OrganisationScenario>>;
  /** What `targets` offers (4.7). The newest is the latest, unless an entry says otherwise. */
  readonly builds?: readonly (string | BuildScenario)[];
  readonly ids?: { readonly firstCollector?: number | string; readonly firstTask?: number | string };
  readonly groups?: Readonly<Record<string, CollectorGroup>>;
  /** Single collectors by name: members of a group that differ, or collectors of no group. */
  readonly collectors?: Readonly<Record<string, CollectorTraits>>;
  readonly upgrade?: UpgradeScenario;
  readonly search?: SearchScenario;
  /** What searches go through; nothing where absent. */
  readonly logs?: LogScenario;
  readonly list?: ListScenario;
  readonly task?: TaskScenario;
  readonly limits?: LimitScenario;
  readonly errors?: ErrorScenario;
  /** How long the service takes for an answer, or from … to. */
  readonly latency?: DurationRange;
  /** How long the service takes a silent collector for alive. */
  readonly aliveFor?: string;
  readonly faults?: Readonly<Record<string, FaultScenario>>;
  readonly events?: Readonly<Record<string, EventScenario>>;
}

export type DurationRange = string | readonly [string, string];

export interface UserScenario {
  /** Access id to access key. Each has its own share of concurrent requests (section 8). */
  readonly keys: Readonly<Record<string, string>>;
  /** 403 for everything, or for these operations (5.4). */
  readonly forbidden?: boolean | readonly Operation[];
  /** The groups that this user may see; all where absent. */
  readonly groups?: readonly string[];
  /** Users without one belong to one organisation together. */
  readonly organisation?: string;
}

export interface OrganisationScenario {
  /** Instead of `limits.activeJobs`; 20 on the frequent tier. */
  readonly activeJobs?: number;
}

export interface BuildScenario {
  readonly version: string;
  readonly latest?: boolean;
}

/** The most collectors of a group: each is held in memory. */
export const maxGroupCount = 1_000_000;

/** The members of a collector (2.7) that can be left out of its answer. */
export const omittableMembers = [
  'hostName',
  'timeZone',
  'links',
  'ephemeral',
  'sourceSyncMode',
  'collectorType',
  'collectorVersion',
  'osVersion',
  'osName',
  'osArch',
  'lastSeenAlive',
  'alive',
] as const;
export type OmittableMember = (typeof omittableMembers)[number];

export interface CollectorTraits {
  readonly version?: string;
  readonly hostName?: string;
  readonly timeZone?: string;
  readonly ephemeral?: boolean;
  readonly sourceSyncMode?: string;
  /** `Hosted` ones have the version `""` and cannot be upgraded. */
  readonly collectorType?: string;
  readonly osName?: string;
  readonly osVersion?: string;
  readonly osArch?: string;
  /** Whether it talks to the service. One that stops is taken for alive for another `aliveFor`. */
  readonly running?: boolean;
  /** How long one that is not running at the start has been silent. */
  readonly silentFor?: string;
  /** True: it is not there. */
  readonly absent?: boolean;
  readonly omit?: readonly OmittableMember[];
  readonly upgrade?: UpgradeScenario;
}

export interface CollectorGroup extends CollectorTraits {
  readonly count: number;
  /** `web-####`: the number of the member from 1 on, padded. Default: the group's name and four digits. */
  readonly name?: string;
  /** Dealt out in turn; instead of `version`. */
  readonly versions?: readonly string[];
}

export interface UpgradeScenario {
  /** From acceptance to the end of one increment. */
  readonly duration?: DurationRange;
  readonly increments?: number;
  /** How much of it is spent in status 0, and then in status 1; each a third at most. */
  readonly notStartedFor?: string;
  readonly pendingFor?: string;
  /** After this an unfinished task is failed (3.2), whatever the collector does. */
  readonly timeout?: string;
  /** How long after acceptance `collector.in.upgrading` begins to show. */
  readonly lockDelay?: string;
  /** What ends `collector.in.upgrading`: the end on the collector, or already the time-out. */
  readonly lockUntil?: 'end' | 'timeout';
  /** A task towards the version that runs. */
  readonly toRunningVersion?: 'accept' | 'refuse';
  /** A task without `toVersion`: the latest build (4.9) or `collector.version.invalid` (7.5). */
  readonly withoutVersion?: 'latest' | 'refuse';
  /** The code that is shown for a progressing task; 4 and 5 are undocumented. */
  readonly progressingStatus?: number;
  /** How upgrades end; whatever share is left succeeds. */
  readonly outcomes?: readonly OutcomeScenario[];
}

export interface OutcomeScenario {
  /** Part of the upgrades, from 0 to 1. Default 1. */
  readonly share?: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly message?: string;
  /** The code shown at the end, instead of 2 or 3. */
  readonly status?: number;
  /** Instead of the usual one: past the time-out, the upgrade succeeds later than its task fails. */
  readonly duration?: DurationRange;
  /** Only a collector's first so many upgrades. */
  readonly attempts?: number;
  /** Only upgrades to this build. */
  readonly toVersion?: string;
}

export interface ListScenario {
  /** Whether collectors that run the build already are in the list towards it. */
  readonly atTarget?: boolean;
  readonly hosted?: boolean;
  readonly maxLimit?: number;
  readonly aboveMaxLimit?: 'cut' | 'refuse';
  readonly order?: 'id' | 'name' | 'version' | 'shuffled';
  /** The list shows what was this long ago. */
  readonly lag?: string;
}

export interface TaskScenario {
  readonly requestTimeUnit?: 'ms' | 's';
  readonly requestTimeMember?: 'requestTime' | 'requestedTime';
  readonly omit?: readonly ('requestTime' | 'message' | 'toVersion' | 'collectorId')[];
}

export interface LimitScenario {
  /** Per user; 0 lifts it. */
  readonly requestsPerSecond?: number;
  /** Per access key; 0 lifts it. */
  readonly concurrentRequests?: number;
  /** Search jobs of an organisation that have been neither deleted nor cancelled; 0 lifts it. */
  readonly activeJobs?: number;
  /** Seconds to put into `Retry-After`; none where absent. */
  readonly retryAfter?: number;
  /** Whether refused requests fill the window too. */
  readonly countRefused?: boolean;
}

export interface ErrorScenario {
  readonly shape?: 'object' | 'list' | 'html' | 'empty';
  /** Put before each code. */
  readonly codePrefix?: string;
  /** Instead, before the codes of search jobs (7.2 to 7.4). */
  readonly searchCodePrefix?: string;
}

export const faultKinds = [
  'reset',
  'stall',
  'drip',
  'delay',
  'status',
  'html',
  'empty',
  'truncate',
  'wrongTypes',
  'redirect',
  'lag',
  'pendingError',
  'pendingWarning',
  'unknownState',
  'shortPage',
  'cancelJob',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface FaultScenario {
  readonly kind: FaultKind;
  /** Whether the request takes effect although its answer is spoilt. */
  readonly effect?: boolean;
  readonly operations?: readonly Operation[];
  readonly users?: readonly string[];
  /** Globs on names, or ids: the collector of a task, created or read. */
  readonly collectors?: readonly string[];
  /** Globs on the query of a job, created or asked for. */
  readonly queries?: readonly string[];
  readonly probability?: number;
  /** Counted from 1 among the requests that match otherwise. */
  readonly nth?: readonly number[];
  /** Strikes so many times at most. */
  readonly times?: number;
  /** From the start of the service. */
  readonly from?: string;
  readonly until?: string;
  /** Before the answer, or what stands for it; with every kind. */
  readonly delay?: DurationRange;
  /** `drip` */
  readonly bytesPerSecond?: number;
  /** `status` */
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly body?: 'error' | 'html' | 'empty';
  /** Seconds or an HTTP date. */
  readonly retryAfter?: number | string;
  /** `redirect`: a path on this host or an address, in place of the base path. */
  readonly to?: string;
  /** `lag`: this list shows what was so long ago, this job is not known for so long. */
  readonly lag?: string;
  /** `unknownState` */
  readonly state?: string;
  /** `shortPage`: at most so many. */
  readonly rows?: number;
}

export interface EventScenario {
  /** From the start of the service; at once where absent or past. */
  readonly at?: string;
  /** Globs on names, or ids. */
  readonly collectors?: readonly string[];
  /** Somebody else upgrades them. */
  readonly upgrade?: { readonly toVersion: string; readonly duration?: string };
  /** Somebody installs this version by hand. */
  readonly setVersion?: string;
  /** A merge patch on the scenario. */
  readonly patch?: Scenario | Readonly<Record<string, unknown>>;
}
