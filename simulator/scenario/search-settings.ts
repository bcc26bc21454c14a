/**
 * Search settings, with defaults for all absent members. The defaults follow docs/service.md or, where the service's
 * documentation is ambiguous, section 10.5 of that file.
 */
import { hourMs } from '../../src/base/time-units.ts';
import { durationMs, type Span, spanOf } from '../base/span.ts';
import { defaultMb } from '../query/aggregation-memory.ts';
import type { CookieScenario, PageScenario, SearchScenario, StatusScenario } from './search-scenario.ts';

type Switches = Pick<
  SearchScenario,
  | 'histogramFirst'
  | 'messageLimit'
  | 'scanLimit'
  | 'aggregationMb'
  | 'atMessageLimit'
  | 'toInclusive'
  | 'onlyReceived'
  | 'timeZone'
  | 'brokenQuery'
>;

export interface SearchSettings extends Required<Switches> {
  readonly duration: Span;
  /**
   * Speed of a search job: the length, in ms, of the time range that it searches per second. If this speed is set,
   * `duration` is ignored.
   */
  readonly rangePerSecondMs: number | undefined;
  readonly notStartedForMs: number;
  readonly subqueriesForMs: number;
  readonly keepAlive: Span;
  readonly timeoutMs: number;
  readonly cancelledForMs: number;
  readonly lagMs: number;
  readonly cookies: Required<CookieScenario>;
  readonly status: Required<Omit<StatusScenario, 'bucketLength'>> & { readonly bucketMs: number | undefined };
  readonly pages: Required<PageScenario>;
}

export function searchSettings(scenario: SearchScenario): SearchSettings {
  return {
    duration: spanOf(scenario.duration) ?? { minMs: 2_000, maxMs: 2_000 },
    rangePerSecondMs: durationMs(scenario.rangePerSecond),
    notStartedForMs: durationMs(scenario.notStartedFor) ?? 100,
    subqueriesForMs: durationMs(scenario.subqueriesFor) ?? 0,
    histogramFirst: scenario.histogramFirst ?? false,
    messageLimit: scenario.messageLimit ?? 100_000,
    scanLimit: scenario.scanLimit ?? 100_000_000,
    aggregationMb: scenario.aggregationMb ?? defaultMb,
    atMessageLimit: scenario.atMessageLimit ?? 'forcePaused',
    keepAlive: spanOf(scenario.keepAlive) ?? { minMs: 20_000, maxMs: 30_000 },
    timeoutMs: durationMs(scenario.timeout) ?? 8 * hourMs,
    cancelledForMs: durationMs(scenario.cancelledFor) ?? 0,
    lagMs: durationMs(scenario.lag) ?? 0,
    toInclusive: scenario.toInclusive ?? false,
    onlyReceived: scenario.onlyReceived ?? false,
    timeZone: scenario.timeZone ?? 'required',
    brokenQuery: scenario.brokenQuery ?? 'parseError',
    cookies: { names: scenario.cookies?.names ?? ['search-session'], missing: scenario.cookies?.missing ?? 404 },
    status: statusSettings(scenario.status ?? {}),
    pages: pageSettings(scenario.pages ?? {}),
  };
}

function statusSettings(scenario: StatusScenario): SearchSettings['status'] {
  return {
    cookieNotice: scenario.cookieNotice ?? true,
    extraMembers: scenario.extraMembers ?? false,
    bucketMs: durationMs(scenario.bucketLength),
    buckets: scenario.buckets ?? 'new',
    pending: scenario.pending ?? 'new',
  };
}

function pageSettings(scenario: PageScenario): SearchSettings['pages'] {
  return {
    maxMessages: scenario.maxMessages ?? 10_000,
    maxRecords: scenario.maxRecords ?? 10_000,
    maxBytes: scenario.maxBytes ?? 100_000_000,
    unknownJob: scenario.unknownJob ?? 400,
    lostJob: scenario.lostJob ?? 404,
    rawOfMessages: scenario.rawOfMessages ?? 'always',
    messagesOfAggregation: scenario.messagesOfAggregation ?? 'refuse',
    earlyRecords: scenario.earlyRecords ?? 'partial',
    largeFigures: scenario.largeFigures ?? 'plain',
  };
}
