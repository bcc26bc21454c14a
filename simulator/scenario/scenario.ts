/**
 * Scenarios. A scenario defines the simulated service: its collectors, log messages, limits and faults. All members are
 * optional. Durations are Go strings (`1h30m`). Ids beyond 2^53 are strings.
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
  /** Base paths of the service. The simulator prints the first one. */
  readonly basePaths?: readonly string[];
  /** Users by name. Each user has its own limit of requests per second. */
  readonly users?: Readonly<Record<string, UserScenario>>;
  readonly organisations?: Readonly<Record<string, OrganisationScenario>>;
  /** Builds that the service offers. The newest build is the latest, unless `latest` marks another build. */
  readonly builds?: readonly (string | BuildScenario)[];
  readonly ids?: { readonly firstCollector?: number | string; readonly firstTask?: number | string };
  readonly groups?: Readonly<Record<string, CollectorGroup>>;
  /** Settings of single collectors, by collector name. They override the settings of the collector's groups. */
  readonly collectors?: Readonly<Record<string, CollectorProperties>>;
  readonly upgrade?: UpgradeScenario;
  readonly search?: SearchScenario;
  /** Log messages for search jobs. Default: none. */
  readonly logs?: LogScenario;
  readonly list?: ListScenario;
  readonly task?: TaskScenario;
  readonly limits?: LimitScenario;
  readonly errors?: ErrorScenario;
  /** Time from a request to its response. */
  readonly latency?: DurationRange;
  /** Time for which the service reports a silent collector as alive. */
  readonly aliveFor?: string;
  readonly faults?: Readonly<Record<string, FaultScenario>>;
  readonly events?: Readonly<Record<string, EventScenario>>;
}

export interface UserScenario {
  /** Access keys by access ID. Each key has its own limit of concurrent requests. */
  readonly keys: Readonly<Record<string, string>>;
  /**
   * Operations that are forbidden for the user. Their requests get status 403. The value `true` means all operations.
   */
  readonly forbidden?: boolean | readonly SimulatedOperation[];
  /** Collector groups that the user may see. Default: all groups. */
  readonly groups?: readonly string[];
  /** Organisation of the user. All users without this member belong to the same organisation. */
  readonly organisation?: string;
}

export interface OrganisationScenario {
  /** Maximum number of active search jobs of the organisation. Default: `limits.activeJobs`. */
  readonly activeJobs?: number;
}

export interface BuildScenario {
  readonly version: string;
  readonly latest?: boolean;
  /** Fraction of the collectors with this build that send no messages. */
  readonly stopsShipping?: number;
  /** Fraction of messages that a collector loses while it runs the build. */
  readonly drops?: number;
}

/** Maximum number of messages that a collector sends per minute. */
export const maxMessagesPerMinute = 10_000;

/** Maximum number of collectors in a group. */
export const maxGroupCount = 1_000_000;

/** Members of a collector that the service can omit. */
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
  /** Whether the collector has contact with the service. */
  readonly running?: boolean;
  /** Time since the last contact with the service, for collectors that are offline at the start. */
  readonly silentFor?: string;
  readonly absent?: boolean;
  readonly omit?: readonly OmittableMember[];
  readonly upgrade?: UpgradeScenario;
  /** Mean number of messages that the collector sends per minute. Default: 0. */
  readonly messagesPerMinute?: number;
  /**
   * Daily change of the message rate, as a fraction of the mean rate. The rate is highest at 14:00 UTC and lowest at
   * 02:00 UTC. Default: 0.
   */
  readonly dailyRhythm?: number;
  /** `_sourceCategory` of the messages. Default: `fleet`. */
  readonly sourceCategory?: string;
}

export interface CollectorGroup extends CollectorProperties {
  readonly count: number;
  /**
   * Pattern for the names of the group's collectors. The characters `#` are replaced by the number of the collector.
   * Default: the group's name and four digits.
   */
  readonly name?: string;
  /** Versions of the group's collectors. The versions are assigned to the collectors in rotation. */
  readonly versions?: readonly string[];
}

export interface UpgradeScenario {
  /** Duration of an upgrade. If an upgrade has several `increments`, it is the duration of each increment. */
  readonly duration?: DurationRange;
  readonly increments?: number;
  /**
   * Time for which an upgrade task has status 0 (`notStartedFor`), and time for which it then has status 1
   * (`pendingFor`). Each of these times is at most a third of the upgrade's duration.
   */
  readonly notStartedFor?: string;
  readonly pendingFor?: string;
  /** Age at which an unfinished upgrade task fails. The collector may still complete the upgrade later. */
  readonly timeout?: string;
  /**
   * Time after an accepted upgrade task in which the service accepts another task for the same collector. After this
   * time, the service refuses such a task with the error `collector.in.upgrading`.
   */
  readonly lockDelay?: string;
  /**
   * When the service accepts the next upgrade of a collector: at the end of the current upgrade, or at the timeout of
   * the upgrade task.
   */
  readonly lockUntil?: 'end' | 'timeout';
  /** Whether the service accepts or refuses an upgrade to the version that the collector already runs. */
  readonly toRunningVersion?: 'accept' | 'refuse';
  /**
   * Effect of an upgrade request without `toVersion`. `latest`: the collector is upgraded to the latest build.
   * `refuse`: the request gets the error `collector.version.invalid`.
   */
  readonly withoutVersion?: 'latest' | 'refuse';
  /** Status code of an upgrade task in progress. */
  readonly progressingStatus?: number;
  /** Possible outcomes of upgrades, each with a fraction of the upgrades. All other upgrades succeed. */
  readonly outcomes?: readonly OutcomeScenario[];
}

export interface OutcomeScenario {
  /** Fraction of the upgrades that have this outcome, from 0 to 1. Default: 1. */
  readonly share?: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly message?: string;
  /** Final status code of the upgrade task. By default, the code is 2 (succeeded) or 3 (failed). */
  readonly status?: number;
  /**
   * Duration of an upgrade with this outcome. If the duration exceeds the timeout, the upgrade task fails, but the
   * collector still completes the upgrade later.
   */
  readonly duration?: DurationRange;
  /**
   * Limits the outcome to the first upgrades of each collector. The value is the number of these upgrades. By default,
   * every upgrade can have the outcome.
   */
  readonly attempts?: number;
  /** Limits the outcome to upgrades to this build. */
  readonly toVersion?: string;
}

export interface ListScenario {
  /** Whether the list of upgradable collectors also contains collectors that already run the requested build. */
  readonly atTarget?: boolean;
  readonly hosted?: boolean;
  readonly maxLimit?: number;
  readonly aboveMaxLimit?: 'cut' | 'refuse';
  readonly order?: 'id' | 'name' | 'version' | 'shuffled';
  /** Delay of changes in the list of collectors. */
  readonly lag?: string;
}

export interface TaskScenario {
  readonly requestTimeUnit?: 'ms' | 's';
  readonly requestTimeMember?: 'requestTime' | 'requestedTime';
  readonly omit?: readonly ('requestTime' | 'message' | 'toVersion' | 'collectorId')[];
}

export interface LimitScenario {
  /** Maximum number of requests per second of a user; 0 for no limit. */
  readonly requestsPerSecond?: number;
  /** Maximum number of concurrent requests of an access key; 0 for no limit. */
  readonly concurrentRequests?: number;
  /** Maximum number of active search jobs of an organisation; 0 for no limit. */
  readonly activeJobs?: number;
  /** Header `Retry-After` of responses with status 429, in seconds. By default, responses have no such header. */
  readonly retryAfter?: number;
  /** Whether requests that were refused with status 429 count towards the limit of requests per second. */
  readonly countRefused?: boolean;
}

export interface ErrorScenario {
  readonly shape?: 'object' | 'list' | 'html' | 'empty';
  readonly codePrefix?: string;
  /**
   * Prefix of the error codes in responses to requests for search jobs. `codePrefix` is the prefix for all other
   * requests.
   */
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
   * Whether the service carries out the request although its response is faulty. The default depends on the kind of
   * fault.
   */
  readonly effect?: boolean;
  readonly operations?: readonly SimulatedOperation[];
  readonly users?: readonly string[];
  /**
   * Names or ids of collectors, with wildcards. The fault applies only to requests about upgrade tasks of these
   * collectors.
   */
  readonly collectors?: readonly string[];
  /** Patterns with wildcards. The fault applies only to requests about search jobs whose query matches a pattern. */
  readonly queries?: readonly string[];
  readonly probability?: number;
  /**
   * Numbers of the requests that the fault affects. Only requests that match the fault are counted, and the first has
   * the number 1.
   */
  readonly nth?: readonly number[];
  readonly times?: number;
  /** Period in which the fault applies. `from` and `until` are durations that start when the service starts. */
  readonly from?: string;
  readonly until?: string;
  /** Delay before the response, for faults of any kind. */
  readonly delay?: DurationRange;
  /** Speed of the response for faults of kind `drip`. */
  readonly bytesPerSecond?: number;
  /** HTTP status for faults of kind `status`. */
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly body?: 'error' | 'html' | 'empty';
  /** Header `Retry-After` of the response: a number of seconds or an HTTP date. */
  readonly retryAfter?: number | string;
  /** Path or address to which a fault of kind `redirect` redirects. It replaces the base path of the request. */
  readonly to?: string;
  /**
   * Delay of faults of kind `lag`. The service returns a collector list of this age, or does not know a new search job
   * for this time.
   */
  readonly lag?: string;
  /** State of the search job, for faults of kind `unknownState`. */
  readonly state?: string;
  /** Maximum number of rows on a result page with a fault of kind `shortPage`. */
  readonly rows?: number;
}

export interface EventScenario {
  /**
   * Time from the start of the service to the event. The event happens immediately if the time is absent or has already
   * passed.
   */
  readonly at?: string;
  /** Names (with wildcards) or ids of collectors. */
  readonly collectors?: readonly string[];
  /** Version to which the event upgrades collectors. In the service's responses, another tool has started the upgrade. */
  readonly upgrade?: { readonly toVersion: string; readonly duration?: string };
  /** Version that the collectors have after the event, as after a manual installation. */
  readonly setVersion?: string;
  /** Merge patch that the event applies to the scenario. */
  readonly patch?: Scenario | Readonly<Record<string, unknown>>;
}
