/**
 * Scenarios. A scenario defines the simulated service: its collectors, log messages, limits and faults. All members are
 * optional. Durations are strings in Go syntax (`1h30m`). Ids beyond 2^53 are strings.
 */

import type { DurationRange } from '../base/span.ts';
import type { LogScenario } from './log-scenario.ts';
import type { SearchScenario } from './search-scenario.ts';

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
export type SimulatedOperation = (typeof operations)[number];

export interface Scenario {
  readonly seed?: number;
  /** Factor by which upgrades and searches are faster than in real time. */
  readonly timeScale?: number;
  /** Base paths of the service. The simulator prints the first one at startup. */
  readonly basePaths?: readonly string[];
  /** Users by name. Each user has a separate limit on requests per second. */
  readonly users?: Readonly<Record<string, UserScenario>>;
  readonly organisations?: Readonly<Record<string, OrganisationScenario>>;
  /** Builds that the service offers. The newest build is marked `latest`, unless another build has `latest: true`. */
  readonly builds?: readonly (string | BuildScenario)[];
  readonly ids?: { readonly firstCollector?: number | string; readonly firstTask?: number | string };
  readonly groups?: Readonly<Record<string, CollectorGroup>>;
  /**
   * Settings for individual collectors, by collector name. A setting replaces the setting of the same name of the
   * collector's group. An object, such as `upgrade`, replaces the group's object as a whole.
   */
  readonly collectors?: Readonly<Record<string, CollectorProperties>>;
  readonly upgrade?: UpgradeScenario;
  readonly search?: SearchScenario;
  /** Log messages for search jobs. Default: none. */
  readonly logs?: LogScenario;
  readonly list?: ListScenario;
  readonly task?: TaskScenario;
  readonly limits?: LimitScenario;
  readonly errors?: ErrorScenario;
  /** Delay between a request and its response. */
  readonly latency?: DurationRange;
  /** Time after the last contact with a collector during which the service still reports the collector as alive. */
  readonly aliveFor?: string;
  readonly faults?: Readonly<Record<string, FaultScenario>>;
  readonly events?: Readonly<Record<string, EventScenario>>;
}

export interface UserScenario {
  /** Access keys by access ID. Each key has a separate limit on concurrent requests. */
  readonly keys: Readonly<Record<string, string>>;
  /**
   * Operations that the user has no permission for. Requests for these operations get status 403. `true` means all
   * operations.
   */
  readonly forbidden?: boolean | readonly SimulatedOperation[];
  /** Collector groups that the user can see. Default: all groups. */
  readonly groups?: readonly string[];
  /** The user's organisation. All users without this setting belong to the same organisation. */
  readonly organisation?: string;
}

export interface OrganisationScenario {
  /** Maximum number of active search jobs in the organisation. Default: `limits.activeJobs`. */
  readonly activeJobs?: number;
}

export interface BuildScenario {
  readonly version: string;
  readonly latest?: boolean;
  /** Fraction of the collectors with this build that send no messages. */
  readonly stopsShipping?: number;
  /** Fraction of its messages that a collector with this build loses. */
  readonly drops?: number;
}

/** Maximum number of messages per minute that a collector can send. */
export const maxMessagesPerMinute = 10_000;

/** Maximum number of collectors in a group. */
export const maxGroupCount = 1_000_000;

/** Members of a collector's JSON that the service can omit. */
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

export interface CollectorProperties {
  readonly version?: string;
  readonly hostName?: string;
  readonly timeZone?: string;
  readonly ephemeral?: boolean;
  readonly sourceSyncMode?: string;
  /** Type of the collector. `Hosted` collectors cannot be upgraded. */
  readonly collectorType?: string;
  readonly osName?: string;
  readonly osVersion?: string;
  readonly osArch?: string;
  /** Whether the collector is in contact with the service. */
  readonly running?: boolean;
  /** Time since the collector's last contact with the service, for a collector that is offline at the start. */
  readonly silentFor?: string;
  readonly absent?: boolean;
  readonly omit?: readonly OmittableMember[];
  readonly upgrade?: UpgradeScenario;
  /** Mean number of messages per minute sent by the collector. Default: 0. */
  readonly messagesPerMinute?: number;
  /**
   * Amplitude of the daily variation in the message rate, as a fraction of the mean rate. The rate is highest at 14:00
   * UTC and lowest at 02:00 UTC. Default: 0.
   */
  readonly dailyRhythm?: number;
  /** `_sourceCategory` of the messages. Default: `fleet`. */
  readonly sourceCategory?: string;
}

export interface CollectorGroup extends CollectorProperties {
  readonly count: number;
  /**
   * Pattern for the names of the group's collectors. Its `#` characters are replaced with the digits of the collector's
   * number. Default: the group's name and four digits.
   */
  readonly name?: string;
  /**
   * Versions that the group's collectors run. The first collector gets the first version, and so on. After the last
   * version, the list starts again.
   */
  readonly versions?: readonly string[];
}

export interface UpgradeScenario {
  /** Duration of an upgrade. If `increments` is above 1, this is the duration of each step of the upgrade. */
  readonly duration?: DurationRange;
  readonly increments?: number;
  /**
   * Times for which an upgrade task has status 0 (`notStartedFor`) and then status 1 (`pendingFor`). Each of the two
   * times is at most a third of the upgrade's duration.
   */
  readonly notStartedFor?: string;
  readonly pendingFor?: string;
  /** Age at which an unfinished upgrade task fails. The collector may still complete the upgrade later. */
  readonly timeout?: string;
  /**
   * Time for which the service still accepts other upgrade tasks for a collector after it has accepted one. Afterwards,
   * it refuses other tasks with the error `collector.in.upgrading`.
   */
  readonly lockDelay?: string;
  /**
   * When the service accepts another upgrade task for the collector: after the `end` of the current upgrade, or after
   * the `timeout` of the current upgrade task.
   */
  readonly lockUntil?: 'end' | 'timeout';
  /** Whether the service accepts or refuses an upgrade to the version that the collector is already running. */
  readonly toRunningVersion?: 'accept' | 'refuse';
  /**
   * Effect of an upgrade request without `toVersion`. `latest`: the collector is upgraded to the latest build.
   * `refuse`: the service returns the error `collector.version.invalid`.
   */
  readonly withoutVersion?: 'latest' | 'refuse';
  /** Status code of an upgrade task that is in progress. */
  readonly progressingStatus?: number;
  /**
   * Possible outcomes of upgrades, each with the fraction of upgrades that have this outcome. All other upgrades
   * succeed.
   */
  readonly outcomes?: readonly OutcomeScenario[];
}

export interface OutcomeScenario {
  /** Fraction of upgrades that have this outcome, from 0 to 1. Default: 1. */
  readonly share?: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly message?: string;
  /** Final status code of the upgrade task. Default: 2 (succeeded) or 3 (failed). */
  readonly status?: number;
  /**
   * Duration of an upgrade with this outcome. If this duration exceeds the timeout of the upgrade task, the task fails,
   * but the collector still completes the upgrade later.
   */
  readonly duration?: DurationRange;
  /**
   * Limits the outcome to the first upgrades of each collector. For example, with 2, only the first two upgrades of a
   * collector can have this outcome. Default: all upgrades.
   */
  readonly attempts?: number;
  /** Build to which the outcome is limited. Upgrades to other builds do not have the outcome. */
  readonly toVersion?: string;
}

export interface ListScenario {
  /**
   * Whether the list of upgradable collectors also contains collectors that are already running the requested build.
   */
  readonly atTarget?: boolean;
  readonly hosted?: boolean;
  readonly maxLimit?: number;
  readonly aboveMaxLimit?: 'cut' | 'refuse';
  readonly order?: 'id' | 'name' | 'version' | 'shuffled';
  /** Delay until changes appear in the collector list. */
  readonly lag?: string;
}

export interface TaskScenario {
  readonly requestTimeUnit?: 'ms' | 's';
  readonly requestTimeMember?: 'requestTime' | 'requestedTime';
  readonly omit?: readonly ('requestTime' | 'message')[];
}

export interface LimitScenario {
  /** Maximum number of requests per second by one user, or 0 for no limit. */
  readonly requestsPerSecond?: number;
  /** Maximum number of concurrent requests with one access key, or 0 for no limit. */
  readonly concurrentRequests?: number;
  /** Maximum number of active search jobs in an organisation, or 0 for no limit. */
  readonly activeJobs?: number;
  /** `Retry-After` header of responses with status 429, in seconds. By default, the header is absent. */
  readonly retryAfter?: number;
  /** Whether requests refused with status 429 count towards the limit on requests per second. */
  readonly countRefused?: boolean;
}

export interface ErrorScenario {
  readonly shape?: 'object' | 'list' | 'html' | 'empty';
  readonly codePrefix?: string;
  /** Prefix of error codes in responses to search-job requests. `codePrefix` is the prefix for all other requests. */
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
  /**
   * Whether the service carries out the request although the response is faulty. The default depends on the kind of
   * fault.
   */
  readonly effect?: boolean;
  readonly operations?: readonly SimulatedOperation[];
  readonly users?: readonly string[];
  /**
   * Names or ids of collectors; wildcards are allowed. The fault applies only to requests about upgrade tasks for these
   * collectors.
   */
  readonly collectors?: readonly string[];
  /**
   * Wildcard patterns for queries. The fault applies only to requests about search jobs whose query matches one of
   * these patterns.
   */
  readonly queries?: readonly string[];
  readonly probability?: number;
  /**
   * Numbers of the requests that the fault affects, for example 1 for the first request. Only requests that match the
   * fault are counted.
   */
  readonly nth?: readonly number[];
  readonly times?: number;
  /** Period in which the fault applies. `from` and `until` are durations measured from the start of the service. */
  readonly from?: string;
  readonly until?: string;
  /** Delay before the response, for any kind of fault. */
  readonly delay?: DurationRange;
  /** Speed of the response, for faults of kind `drip`. */
  readonly bytesPerSecond?: number;
  /** HTTP status, for faults of kind `status`. */
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly body?: 'error' | 'html' | 'empty';
  /** `Retry-After` header of the response: a number of seconds, or an HTTP date. */
  readonly retryAfter?: number | string;
  /**
   * Redirect target for faults of kind `redirect`: a path or address that replaces the base path of the request URL.
   */
  readonly to?: string;
  /**
   * Delay for faults of kind `lag`. Changes appear in the collector list only after this delay, and the service does
   * not know a new search job before this delay has passed.
   */
  readonly lag?: string;
  /** State of the search job, for faults of kind `unknownState`. */
  readonly state?: string;
  /** Maximum number of rows on a result page, for faults of kind `shortPage`. */
  readonly rows?: number;
}

export interface EventScenario {
  /**
   * Time from the start of the service to the event. If the time is absent or has already passed, the event happens
   * immediately.
   */
  readonly at?: string;
  /** Names or ids of collectors. Wildcards are allowed in names. */
  readonly collectors?: readonly string[];
  /**
   * Version to which the event upgrades the collectors. To clients, the upgrade appears to have been started by another
   * tool.
   */
  readonly upgrade?: { readonly toVersion: string; readonly duration?: string };
  /** Version that the collectors run after the event, as if a person had installed this version on them. */
  readonly setVersion?: string;
  /** Merge patch that the event applies to the scenario. */
  readonly patch?: Scenario | Readonly<Record<string, unknown>>;
}
