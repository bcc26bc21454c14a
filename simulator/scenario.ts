/**
 * Scenarios. A scenario defines the simulated service: its collectors, log messages, limits and faults. All members are
 * optional (defaults: `settings.ts`). `scenario-schema.ts` defines the same members for validation.
 *
 * Lists with names are maps, so that a merge patch can change single entries. Durations are Go strings (`1h30m`). Ids beyond
 * 2^53 are strings.
 */
import type { LogScenario } from './search/log-scenario.ts';
import type { SearchScenario } from './search/search-scenario.ts';
import type { DurationRange } from './span.ts';

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
  readonly seed?: number;
  /**
   * Factor by which upgrades and searches are faster than in real time. It does not change limits, keep-alive times, delays of
   * lists, or the times of events.
   */
  readonly timeScale?: number;
  /** Base paths of the service on its host. The simulator prints the first. */
  readonly basePaths?: readonly string[];
  /** Users by name. The limit of requests per second applies to each user. */
  readonly users?: Readonly<Record<string, UserScenario>>;
  readonly organisations?: Readonly<Record<string, OrganisationScenario>>;
  /** Offered builds (service.md 4.7). The newest build is the service's latest build, unless an entry sets `latest`. */
  readonly builds?: readonly (string | BuildScenario)[];
  readonly ids?: { readonly firstCollector?: number | string; readonly firstTask?: number | string };
  readonly groups?: Readonly<Record<string, CollectorGroup>>;
  /** Collectors by name: collectors without a group, and collectors that differ from the rest of their group. */
  readonly collectors?: Readonly<Record<string, CollectorProperties>>;
  readonly upgrade?: UpgradeScenario;
  readonly search?: SearchScenario;
  /** Log messages for search jobs. Absent: no messages. */
  readonly logs?: LogScenario;
  readonly list?: ListScenario;
  readonly task?: TaskScenario;
  readonly limits?: LimitScenario;
  readonly errors?: ErrorScenario;
  /** Time from a request to its answer, or a range of times. */
  readonly latency?: DurationRange;
  /** Time for which the service reports a silent collector as alive (service.md 4.8). */
  readonly aliveFor?: string;
  readonly faults?: Readonly<Record<string, FaultScenario>>;
  readonly events?: Readonly<Record<string, EventScenario>>;
}

export interface UserScenario {
  /** Access keys (secrets) by access ID. Each has its own limit of concurrent requests (service.md 8). */
  readonly keys: Readonly<Record<string, string>>;
  /** Operations that the service refuses to the user with status 403; true for all operations (service.md 5.4). */
  readonly forbidden?: boolean | readonly Operation[];
  /** Collector groups that the user may see. Absent: all groups. */
  readonly groups?: readonly string[];
  /** Organisation of the user. All users without this member belong to the same organisation. */
  readonly organisation?: string;
}

export interface OrganisationScenario {
  /**
   * Maximum number of active search jobs of the organisation. Default: `limits.activeJobs`. On real services, it is 20 in the
   * tier "frequent".
   */
  readonly activeJobs?: number;
}

export interface BuildScenario {
  readonly version: string;
  readonly latest?: boolean;
  /** Fraction of the collectors (0 to 1) that ship no messages while they run the build. */
  readonly stopsShipping?: number;
  /** Fraction of its messages that each collector loses while it runs the build. */
  readonly drops?: number;
}

/** Maximum number of messages that a collector ships per minute. */
export const maxMessagesPerMinute = 10_000;

/** Maximum number of collectors in a group, because each is held in memory. */
export const maxGroupCount = 1_000_000;

/** Members of a collector (service.md 2.7) that the service can omit in its answers. */
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
  /** Type of the collector. `Hosted` collectors have no version and cannot be upgraded. */
  readonly collectorType?: string;
  readonly osName?: string;
  readonly osVersion?: string;
  readonly osArch?: string;
  /**
   * Whether the collector is in contact with the service. A collector that stops is still reported as alive for the time
   * `aliveFor`.
   */
  readonly running?: boolean;
  /** Time since the last contact, for a collector that is not in contact with the service at the start. */
  readonly silentFor?: string;
  readonly absent?: boolean;
  readonly omit?: readonly OmittableMember[];
  readonly upgrade?: UpgradeScenario;
  /** Mean number of messages that the collector ships per minute. Default: 0. */
  readonly messagesPerMinute?: number;
  /**
   * Daily change of the message rate: fraction by which the rate is above its mean at 14:00 UTC, and below its mean at 02:00
   * UTC. Default: 0.
   */
  readonly dailyRhythm?: number;
  /** Value of `_sourceCategory` in the messages. Default: `fleet`. */
  readonly sourceCategory?: string;
}

export interface CollectorGroup extends CollectorProperties {
  readonly count: number;
  /**
   * Pattern for the names of the group's collectors. A number from 1 upwards replaces the characters `#`. Default: the group's
   * name and four digits.
   */
  readonly name?: string;
  /** Versions of the group's collectors. The collectors get these versions in turn. If set, `version` is ignored. */
  readonly versions?: readonly string[];
}

export interface UpgradeScenario {
  /** Duration of an upgrade for each of its `increments`. */
  readonly duration?: DurationRange;
  readonly increments?: number;
  /**
   * Time that an upgrade task spends in status 0, and then in status 1. Each of the two is at most a third of the duration of the
   * upgrade.
   */
  readonly notStartedFor?: string;
  readonly pendingFor?: string;
  /** Age at which an unfinished upgrade task fails (service.md 3.2), even if the collector continues the upgrade. */
  readonly timeout?: string;
  /**
   * Time after the acceptance of an upgrade task in which the service still accepts a second task for the collector. After this
   * time, it answers `collector.in.upgrading`.
   */
  readonly lockDelay?: string;
  /**
   * When the service accepts another upgrade of the collector: at the end of the upgrade, or at the timeout of its task. Until
   * then, it answers `collector.in.upgrading`.
   */
  readonly lockUntil?: 'end' | 'timeout';
  /** Answer to an upgrade to the version that the collector already runs. */
  readonly toRunningVersion?: 'accept' | 'refuse';
  /**
   * Answer to an upgrade request without `toVersion`: an upgrade to the latest build (service.md 4.9), or the error
   * `collector.version.invalid` (service.md 7.5).
   */
  readonly withoutVersion?: 'latest' | 'refuse';
  /** Status code of an upgrade task in progress. The codes 4 and 5 are not documented by the service. */
  readonly progressingStatus?: number;
  /** Outcomes of upgrades, each with the fraction of upgrades that have it. The remaining upgrades succeed. */
  readonly outcomes?: readonly OutcomeScenario[];
}

export interface OutcomeScenario {
  /** Fraction of the upgrades that have this outcome, from 0 to 1. Default: 1. */
  readonly share?: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly message?: string;
  /** Final status code of the upgrade task, in place of 2 (succeeded) or 3 (failed). */
  readonly status?: number;
  /**
   * Duration of the upgrade in place of the usual duration. With a duration beyond the timeout, the upgrade succeeds after its
   * task has failed.
   */
  readonly duration?: DurationRange;
  /** Limits the outcome to the first upgrades of each collector, for example 2. Default: no limit. */
  readonly attempts?: number;
  /** Limits the outcome to upgrades to the build `toVersion`. */
  readonly toVersion?: string;
}

export interface ListScenario {
  /** Whether the list of collectors that can be upgraded to a build contains collectors that already run the build. */
  readonly atTarget?: boolean;
  readonly hosted?: boolean;
  readonly maxLimit?: number;
  readonly aboveMaxLimit?: 'cut' | 'refuse';
  readonly order?: 'id' | 'name' | 'version' | 'shuffled';
  /** Time after which the list of collectors shows a change. */
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
  /** Maximum number of search jobs of an organisation that are neither deleted nor cancelled; 0 for no limit. */
  readonly activeJobs?: number;
  /** Value in seconds of the header `Retry-After` of answers with status 429. Absent for answers without the header. */
  readonly retryAfter?: number;
  /** Whether requests that the service refuses with status 429 count towards the limit of requests per second. */
  readonly countRefused?: boolean;
}

export interface ErrorScenario {
  readonly shape?: 'object' | 'list' | 'html' | 'empty';
  readonly codePrefix?: string;
  /** Prefix of the error codes of search jobs (service.md 7.2 to 7.4), in place of `codePrefix`. */
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
  /** Whether the service carries out the request although the answer is faulty. The default depends on the kind of fault. */
  readonly effect?: boolean;
  readonly operations?: readonly Operation[];
  readonly users?: readonly string[];
  /**
   * Names (with wildcards) or ids of collectors. The fault applies to requests that create or read an upgrade task of a
   * matching collector.
   */
  readonly collectors?: readonly string[];
  /** Patterns for queries, with wildcards. The fault applies to requests that create or read a search job with a matching query. */
  readonly queries?: readonly string[];
  readonly probability?: number;
  /** Numbers of the requests to which the fault applies. Requests that match the fault's other members are numbered from 1. */
  readonly nth?: readonly number[];
  readonly times?: number;
  /** Start and end of the period in which the fault applies, as durations since the start of the service. */
  readonly from?: string;
  readonly until?: string;
  /** Delay before the answer, for faults of any kind. */
  readonly delay?: DurationRange;
  /** Speed of the answer for faults of kind `drip`. */
  readonly bytesPerSecond?: number;
  /** HTTP status for faults of kind `status`. */
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly body?: 'error' | 'html' | 'empty';
  /** Value of the header `Retry-After` of the answer: seconds or an HTTP date. */
  readonly retryAfter?: number | string;
  /** Target of a fault of kind `redirect`: a path on this host, or an address, that replaces the base path. */
  readonly to?: string;
  /**
   * For faults of kind `lag`: the age of the data in a list of collectors, or the time after its creation for which a search
   * job is unknown.
   */
  readonly lag?: string;
  /** State of the search job that the answer shows, for faults of kind `unknownState`. */
  readonly state?: string;
  /** Maximum number of rows on the page, for faults of kind `shortPage`. */
  readonly rows?: number;
}

export interface EventScenario {
  /** Time of the event after the start of the service. If the time is absent or past, the event happens at once. */
  readonly at?: string;
  /** Names (with wildcards) or ids of collectors. */
  readonly collectors?: readonly string[];
  /** Version to which the event upgrades its collectors, as another tool would. */
  readonly upgrade?: { readonly toVersion: string; readonly duration?: string };
  /** Version that the collectors run after the event, as after a manual installation. */
  readonly setVersion?: string;
  /** Merge patch that the event applies to the scenario. */
  readonly patch?: Scenario | Readonly<Record<string, unknown>>;
}
