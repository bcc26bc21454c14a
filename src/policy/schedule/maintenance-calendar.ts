/**
 * Computes when `spec.maintenance` allows upgrades to start (R8). The result is needed for every collector, so results
 * are cached by time zone.
 */
import { renderExplanation } from '../../api/finding.ts';
import type {
  CollectorVersionPolicySpec,
  Exclusion,
  Maintenance,
  MaintenanceWindow,
} from '../../api/generated/collector-version-policy.ts';
import { scheduleProblem, timeZoneProblem } from '../../api/schedule-check.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { CronSchedule } from '../../base/cron.ts';
import { parseDuration } from '../../base/duration.ts';
import { type TimeRange, union } from '../../base/time-range.ts';
import { dayMs } from '../../base/time-units.ts';
import { type TimeZone, timeZone } from '../../base/time-zone.ts';
import { type Opening, spanStart, spansFrom } from './window-spans.ts';

/** Reason why the maintenance settings allow no upgrade to start. */
export type ClosedCause =
  /** The maintenance settings contain an error, and `problem` describes it. */
  | { readonly kind: 'calendarProblem'; readonly problem: string }
  /** An exclusion applies now, or delays the next window. */
  | { readonly kind: 'exclusion'; readonly name: string }
  | { readonly kind: 'window' }
  /** No future window is longer than the cutoff. */
  | { readonly kind: 'noWindow'; readonly cutoffMs: number };

export type WindowVerdict =
  /**
   * Upgrades may start until `untilMs`, a wall-clock time in ms: the end of the window minus the cutoff, or Infinity if
   * the window never closes.
   */
  | { readonly kind: 'open'; readonly untilMs: number }
  /**
   * No upgrade may start before `opensAtMs`, a wall-clock time in ms. `opensAtMs` is undefined if no window will open.
   */
  | { readonly kind: 'closed'; readonly opensAtMs: number | undefined; readonly because: ClosedCause }
  /** The window needs the collector's time zone, but the collector reports no readable time zone. */
  | { readonly kind: 'zoneUnreadable' };

export interface NextWindow extends TimeRange {
  /** Time zone that the window takes from its collectors. Absent if the window has its own time zone. */
  readonly zone?: string;
}

/** States whether a policy's maintenance windows allow upgrades to start at a given time. */
export interface WindowsNow {
  /** Error in the maintenance settings, and how to correct it. No window opens until the error is corrected. */
  readonly problem: string | undefined;
  /** Whether upgrades may start. Undefined if this depends on each collector's time zone. */
  readonly everywhere: WindowVerdict | undefined;
  /** Whether upgrades may start in each time zone of the policy's collectors. Empty if `everywhere` is set. */
  readonly byZone: ReadonlyMap<string, WindowVerdict>;
  /**
   * Maintenance window that is open or opens next. Undefined if no window will open, or if the open window never
   * closes.
   */
  readonly next: NextWindow | undefined;
}

/** Reports whether the upgrade of a collector in this time zone may start. */
export function verdictIn({ everywhere, byZone }: WindowsNow, zone: string | undefined): WindowVerdict {
  return everywhere ?? byZone.get(zone ?? '') ?? { kind: 'zoneUnreadable' };
}

interface Window extends Omit<Opening, 'zone'> {
  /** Time zone of the window; undefined if the window uses the time zone of each collector. */
  readonly zone: TimeZone | undefined;
}

/** Period in which no upgrade starts, merged from exclusions that overlap or touch. */
interface Block extends TimeRange {
  /** Name of the exclusion in this period that ends last. */
  readonly name: string;
}

/** Cached result, with the wall-clock time in ms until which the result is valid. */
interface Found<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

interface Cached<Value> extends Found<Value> {
  readonly fromMs: number;
}

/** Maximum age of a cached result, in ms. */
const maxCachedMs = dayMs;
/**
 * Maximum number of time zones with cached results. The cache must be limited, because collectors may report any text
 * as their time zone.
 */
const maxZones = 1_000;
/** Maximum number of time ranges that are checked to find a window that is longer than the cutoff. */
const maxTries = 400;

/**
 * Returns the cutoff in ms: the length of the period before the end of a maintenance window in which no upgrade starts.
 */
export function cutoffMs(maintenance: Maintenance | undefined): number {
  return parseDuration(maintenance?.cutoff ?? '0s') ?? 0;
}

/** Reports whether maintenance windows use the time zone of each collector. */
export function opensByCollector(maintenance: Maintenance | undefined): boolean {
  return maintenance?.windows?.some(({ timeZoneSource }) => timeZoneSource === 'Collector') ?? false;
}

export class MaintenanceCalendar {
  /** Error in the maintenance settings, and how to correct it. No window opens until the error is corrected. */
  readonly problem: string | undefined;
  /** True if maintenance windows use the time zone of each collector. */
  readonly byCollector: boolean;
  /** Maintenance windows. Undefined if the policy has none, or if they contain an error. */
  readonly #windows: readonly Window[] | undefined;
  readonly #blocks: readonly Block[];
  readonly #cutoffMs: number;
  readonly #verdicts = new Map<string, Cached<WindowVerdict>>();
  readonly #next = new Map<string, Cached<TimeRange | undefined>>();

  constructor(maintenance: Maintenance | undefined) {
    const { windows = [], exclusions = [] } = maintenance ?? {};
    this.problem = problemOf(windows, exclusions);
    this.byCollector = opensByCollector(maintenance);
    this.#windows = this.problem === undefined && windows.length > 0 ? windows.map(readWindow) : undefined;
    this.#blocks = this.problem === undefined ? blocksOf(exclusions) : [];
    this.#cutoffMs = cutoffMs(maintenance);
  }

  /**
   * Returns which upgrades the windows allow to start at this wall-clock time in ms.
   * @param zones time zones of the policy's collectors
   */
  at(wallMs: number, zones: Iterable<string>): WindowsNow {
    const { problem } = this;
    const isByZone = this.byCollector && problem === undefined;
    return {
      problem,
      everywhere: isByZone ? undefined : this.verdict(wallMs, undefined),
      byZone: new Map(isByZone ? Array.from(zones, (zone) => [zone, this.verdict(wallMs, zone)]) : []),
      next: this.nextWindow(wallMs, zones),
    };
  }

  /** Reports whether an upgrade in this time zone may start at this wall-clock time in ms. */
  verdict(wallMs: number, zone: string | undefined): WindowVerdict {
    if (this.problem !== undefined) {
      const because = { kind: 'calendarProblem', problem: this.problem } as const;
      return { kind: 'closed', opensAtMs: undefined, because };
    }
    const key = this.byCollector ? (zone ?? '') : '';
    return cached(this.#verdicts, key, wallMs, () => this.#findVerdict(wallMs, key));
  }

  /**
   * Finds the open maintenance window or, if no window is open, the window that opens next in one of the given time
   * zones. Returns undefined if no window will open, or if the open window never closes.
   */
  nextWindow(wallMs: number, zones: Iterable<string>): NextWindow | undefined {
    if (!this.#windows) return undefined;
    let next: NextWindow | undefined;
    for (const zone of this.byCollector ? zones : ['']) {
      if (this.byCollector && !timeZone(zone)) continue;
      const found = cached(this.#next, zone, wallMs, () => this.#findNext(wallMs, zone));
      if (found && (!next || found.fromMs < next.fromMs)) next = this.byCollector ? { ...found, zone } : found;
    }
    return next;
  }

  #findVerdict(wallMs: number, zone: string): Found<WindowVerdict> {
    if (this.byCollector && !timeZone(zone)) return { value: { kind: 'zoneUnreadable' }, untilMs: Infinity };
    const range = this.#nextRange(wallMs, this.#openings(zone), this.#cutoffMs);
    if (range && range.fromMs <= wallMs) {
      const untilMs = range.toMs - this.#cutoffMs;
      return { value: { kind: 'open', untilMs }, untilMs };
    }
    const value = { kind: 'closed', opensAtMs: range?.fromMs, because: this.#cause(wallMs, range) } as const;
    // The result is cached only until the next exclusion begins, because that exclusion may then be the reason for the
    // wait.
    const nextBlock = this.#blocks.find(({ fromMs }) => fromMs > wallMs);
    return { value, untilMs: Math.min(range?.fromMs ?? Infinity, nextBlock?.fromMs ?? Infinity) };
  }

  #cause(wallMs: number, range: TimeRange | undefined): ClosedCause {
    const block = this.#blocks.find(({ fromMs, toMs }) => fromMs <= wallMs && wallMs < toMs);
    const before = range && this.#blocks.find(({ toMs }) => toMs === range.fromMs);
    const exclusion = block ?? before;
    if (exclusion) return { kind: 'exclusion', name: exclusion.name };
    return range ? { kind: 'window' } : { kind: 'noWindow', cutoffMs: this.#cutoffMs };
  }

  #findNext(wallMs: number, zone: string): Found<TimeRange | undefined> {
    const openings = this.#openings(zone);
    const range = openings && this.#nextRange(wallMs, openings, 0);
    if (!openings || !range || range.toMs === Infinity) return { value: undefined, untilMs: Infinity };
    const { toMs } = range;
    const before = this.#blocks.findLast((block) => block.toMs <= range.fromMs);
    const fromMs = Math.max(spanStart(openings, range.fromMs), before?.toMs ?? -Infinity);
    return { value: { fromMs, toMs }, untilMs: toMs };
  }

  /** Returns the first period at or after `afterMs` in which a window is open for longer than the cutoff. */
  #nextRange(afterMs: number, openings: readonly Opening[] | undefined, cutoffMs: number): TimeRange | undefined {
    let spans = spansFrom(openings, afterMs);
    let span = spans.next().value;
    let fromMs = afterMs;
    for (let tries = 0; span && tries < maxTries; tries++) {
      fromMs = Math.max(fromMs, span.fromMs);
      const block = this.#blocks.find(({ toMs }) => toMs > fromMs);
      const toMs = Math.min(span.toMs, block?.fromMs ?? Infinity);
      if (toMs - cutoffMs > fromMs) return { fromMs, toMs };
      if (block && block.fromMs < span.toMs) {
        fromMs = block.toMs;
        // An exclusion may last for years, so all maintenance windows inside it are skipped in one step.
        if (fromMs >= span.toMs) spans = spansFrom(openings, fromMs);
        else continue;
      }
      span = spans.next().value;
    }
    return undefined;
  }

  /**
   * Returns the maintenance windows for collectors in this time zone. Returns undefined if the policy has no windows.
   */
  #openings(zone: string): readonly Opening[] | undefined {
    const own = timeZone(zone);
    return this.#windows?.flatMap(({ zone = own, ...window }) => (zone ? [{ ...window, zone }] : []));
  }
}

/** Returns the cached result if that result is still valid, or otherwise a new result. */
function cached<Value>(
  memory: Map<string, Cached<Value>>,
  key: string,
  wallMs: number,
  find: () => Found<Value>,
): Value {
  const known = memory.get(key);
  if (known && known.fromMs <= wallMs && wallMs < known.untilMs) return known.value;
  if (memory.size >= maxZones) memory.clear();
  const { value, untilMs } = find();
  memory.set(key, { value, fromMs: wallMs, untilMs: Math.min(untilMs, wallMs + maxCachedMs) });
  return value;
}

/**
 * Returns the first error in the maintenance settings that the CRD's schema cannot detect, and says how to correct the
 * error.
 */
function problemOf(windows: readonly MaintenanceWindow[], exclusions: readonly Exclusion[]): string | undefined {
  for (const { schedule, timeZone: zone } of windows) {
    const ofSchedule = scheduleProblem(schedule);
    if (ofSchedule !== undefined) return `schedule: ${renderExplanation(ofSchedule)}`;
    const ofZone = zone === undefined ? undefined : timeZoneProblem(zone);
    if (ofZone !== undefined) return `timeZone: ${renderExplanation(ofZone)}`;
  }
  for (const { name, startTime, endTime } of exclusions) {
    const unreadable = [startTime, endTime].find((time) => Number.isNaN(Date.parse(time)));
    if (unreadable === undefined) continue;
    return `exclusion ${JSON.stringify(name)}: ${JSON.stringify(unreadable)} is not a valid time; use one such as 2026-12-20T00:00:00Z`;
  }
  return undefined;
}

function readWindow({ schedule: text, duration, timeZone: zone, timeZoneSource }: MaintenanceWindow): Window {
  const schedule = new CronSchedule(text);
  const durationMs = parseDuration(duration) ?? 0;
  const daySpans = union(schedule.timesMs.map((fromMs) => ({ fromMs, toMs: fromMs + durationMs })));
  return {
    ...{ schedule, durationMs, daySpans },
    zone: timeZoneSource === 'Collector' ? undefined : timeZone(zone ?? 'UTC'),
  };
}

function blocksOf(exclusions: readonly Exclusion[]): readonly Block[] {
  const blocks: Block[] = [];
  const each = exclusions.map(({ name, startTime, endTime }) => ({
    name,
    fromMs: Date.parse(startTime),
    toMs: Date.parse(endTime),
  }));
  for (const block of each.filter(({ fromMs, toMs }) => fromMs < toMs).sort((a, b) => a.fromMs - b.fromMs)) {
    const last = blocks.at(-1);
    if (!last || block.fromMs > last.toMs) blocks.push(block);
    else if (block.toMs > last.toMs) blocks.splice(-1, 1, { ...block, fromMs: last.fromMs });
  }
  return blocks;
}

/** Calendar for policies without maintenance settings. */
const always = new MaintenanceCalendar(undefined);

/** Maintenance calendar of a policy. Each change to the spec creates a new calendar. */
export class CalendarCache {
  #calendar = always;
  #of: Maintenance | undefined;

  current({ maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>): MaintenanceCalendar {
    if (maintenance !== this.#of && !sameValue(maintenance, this.#of)) {
      this.#calendar = new MaintenanceCalendar(maintenance);
    }
    this.#of = maintenance;
    return this.#calendar;
  }
}
