/**
 * How long a rollout takes and how many requests it needs where nothing fails: each upgrade is followed from its POST until a look
 * shows its end, on a clock that jumps from one event to the next. Deterministic; it asks nobody and changes nothing.
 *
 * What it takes from the engine, and no more: the line of those to be started and the places for them (`admission.ts`), when the end
 * of an upgrade is looked for (`forecast-looks.ts` after `watch-plan.ts`), sweeps (U9), the calendar, and one rate of requests that
 * all of them share. Left out: answers that are late, a budget that somebody else uses too, and upgrades of different lengths.
 */
import { restingShare } from '../fleet/fleet-listing.ts';
import { defaultRows } from '../fleet/page-size.ts';
import { ForecastLine, type ForecastMembers } from './forecast-line.ts';
import { ForecastLooks } from './forecast-looks.ts';
import type { MaintenanceCalendar } from './maintenance-calendar.ts';
import { workingShare } from './read-plan.ts';
import { policySettings } from './settings.ts';
import type { Span } from './window-spans.ts';

export interface ForecastStage {
  /** Those to be upgraded, in the order in which they are; those already at the target are left out. */
  readonly members: readonly ForecastMembers[];
  /** How many of the stage may be in upgrade at once; undefined where it sets no limit of its own. */
  readonly maxInProgress: number | undefined;
  readonly soakMs: number;
  /** Whether a person has to approve it, which is taken to happen at once. */
  readonly needsApproval: boolean;
  /** When upgrades of it began that are under way, in wall ms; none where absent. */
  readonly underWay?: readonly number[];
  /** Its soak has begun, and ends then, in wall ms, unless there is somebody to be upgraded. */
  readonly soakedMs?: number | undefined;
  /** What keeps it from ending although nobody is left to be upgraded, as it follows "waiting for"; undefined where nothing does. */
  readonly heldBy?: string | undefined;
}

export interface ForecastInput {
  /** In their order; a policy without stages has one. */
  readonly stages: readonly ForecastStage[];
  /** `strategy.maxInProgress`, as a number. */
  readonly maxInProgress: number;
  /** Of the account: 4, unless its Secret says less (8). */
  readonly requestsPerSecond: number;
  /** How long one upgrade takes. */
  readonly upgradeMs: number;
  /** Whether that is until its end was seen, as the engine has measured it, and not until it came. */
  readonly isMeasured?: boolean;
  readonly calendar: MaintenanceCalendar;
  /** When the rollout begins, in wall ms. */
  readonly startMs: number;
  /** Collectors in the service's list, also those that are not to be upgraded. */
  readonly listed: number;
  /** How many of them one page of the list has at most. */
  readonly pageRows: number;
  readonly resyncMs: number;
}

export interface ForecastOfStage {
  /** Wall ms: its turn comes. */
  readonly startMs: number;
  /** Wall ms: its soak is over; undefined where it never ends, nor any that comes after it. */
  readonly endMs: number | undefined;
  /** It, or one before it, waits for a person: it begins and ends so much later as that takes. */
  readonly afterApproval: boolean;
}

export interface Forecast {
  /** Wall ms. */
  readonly startMs: number;
  /** Those that begin. */
  readonly stages: readonly ForecastOfStage[];
  /** From the start to the end of the last stage; undefined where that never comes. */
  readonly totalMs: number | undefined;
  /** Why it never ends, as it follows "waiting for"; undefined where it does. */
  readonly waitsForEver: string | undefined;
  /** Requests to the service, until the end or until nothing moves any more. */
  readonly requests: ForecastRequests;
  /** Maintenance windows in which something is started, in the order in which they open. */
  readonly windows: readonly Span[];
  /** Collectors without a time zone that can be read, where a window is by theirs: none of them is started. */
  readonly unreadableZones: number;
}

export interface ForecastRequests {
  readonly posts: number;
  /** Reads of tasks and of single pages, which show the ends of upgrades. */
  readonly looks: number;
  /** Reads of the whole list and of the builds. */
  readonly sweeps: number;
}

export function forecast(input: ForecastInput): Forecast {
  return new Course(input).run();
}

class Course {
  readonly #input: ForecastInput;
  readonly #slotMs: number;
  readonly #sweepRequests: number;
  readonly #looks: ForecastLooks;
  readonly #windows = new Map<string, Span>();
  #nowMs: number;
  /** When the next request may go out. */
  #freeMs: number;
  #sweptMs: number;
  #posts = 0;
  #lookRequests = 0;
  #sweeps = 0;
  #unreadable = 0;

  constructor(input: ForecastInput) {
    this.#input = input;
    this.#slotMs = 1_000 / input.requestsPerSecond;
    this.#sweepRequests = requestsOfSweep(input.listed, input.pageRows);
    this.#looks = new ForecastLooks(input.upgradeMs, input.isMeasured ?? false);
    this.#nowMs = input.startMs;
    this.#freeMs = input.startMs;
    this.#sweptMs = input.startMs;
  }

  run(): Forecast {
    const { startMs } = this.#input;
    const stages: ForecastOfStage[] = [];
    let afterApproval = false;
    let waitsForEver: string | undefined;
    this.#sweep();
    for (const stage of this.#input.stages) {
      afterApproval ||= stage.needsApproval;
      const begunMs = this.#nowMs;
      const isLast = stage === this.#input.stages.at(-1);
      waitsForEver = this.#upgradeAll(stage, isLast) ?? stage.heldBy;
      if (waitsForEver !== undefined) {
        stages.push({ startMs: begunMs, endMs: undefined, afterApproval });
        break;
      }
      this.#soak(stage, isLast);
      stages.push({ startMs: begunMs, endMs: this.#nowMs, afterApproval });
    }
    return {
      startMs,
      stages,
      totalMs: waitsForEver === undefined ? this.#nowMs - startMs : undefined,
      waitsForEver,
      requests: { posts: this.#posts, looks: this.#lookRequests, sweeps: this.#sweeps },
      windows: [...this.#windows.values()].sort(
        (left, right) => left.startMs - right.startMs || left.endMs - right.endMs,
      ),
      unreadableZones: this.#unreadable,
    };
  }

  /** Returns what is waited for in vain, or undefined once all of the stage are seen to be upgraded. */
  #upgradeAll(stage: ForecastStage, isLast: boolean): string | undefined {
    const { members, maxInProgress = Number.POSITIVE_INFINITY, underWay = [] } = stage;
    const { calendar, listed, pageRows } = this.#input;
    const line = new ForecastLine(members, { calendar, listed, pageRows });
    const places = Math.min(this.#input.maxInProgress, maxInProgress, policySettings.maxOpen);
    this.#unreadable += line.unreadable;
    this.#followUp(underWay);
    while (line.waiting > 0 || this.#looks.open > 0) {
      this.#passUntil(this.#freeMs, line.waiting > 0 || !isLast);
      const hasPlace = this.#looks.open < places;
      const pressed = line.waiting === 0 || !hasPlace || !isLast;
      if (this.#looks.take(this.#nowMs, pressed)) {
        this.#spend(1);
        this.#lookRequests++;
        continue;
      }
      const next = hasPlace ? line.next(this.#nowMs) : undefined;
      if (next) {
        this.#start(next);
        continue;
      }
      const waitsForOpening = hasPlace && line.waiting > 0;
      const opensAtMs = waitsForOpening ? line.opensAtMs : Number.POSITIVE_INFINITY;
      const nextMs = Math.min(this.#looks.nextMs(this.#nowMs, pressed), opensAtMs);
      if (nextMs === Number.POSITIVE_INFINITY) return line.reason(this.#nowMs);
      this.#passUntil(nextMs, !waitsForOpening && (line.waiting > 0 || !isLast));
    }
    return undefined;
  }

  /** What began before the forecast lies all over the list, too. */
  #followUp(underWay: readonly number[]): void {
    const { listed, pageRows, upgradeMs } = this.#input;
    const begun = underWay.map((beganMs) => Math.max(beganMs, this.#nowMs - upgradeMs)).sort((a, b) => a - b);
    for (const [index, beganMs] of begun.entries()) {
      this.#looks.started(beganMs, Math.floor((index * listed) / begun.length / pageRows));
    }
  }

  #start({ page, zone }: { readonly page: number; readonly zone: string | undefined }): void {
    const window = this.#input.calendar.nextWindow(this.#nowMs, zone === undefined ? [] : [zone]);
    if (window) this.#windows.set(`${window.startMs} ${window.endMs}`, window);
    this.#spend(1);
    this.#posts++;
    this.#looks.started(this.#nowMs, page);
  }

  /** A soak ends with a sweep that was sent after it. */
  #soak({ members, soakMs, underWay = [], soakedMs }: ForecastStage, isLast: boolean): void {
    const isIdle = underWay.length === 0 && members.every(({ count }) => count === 0);
    const endMs = isIdle ? soakedMs : this.#nowMs + soakMs;
    if (soakMs === 0 || endMs === undefined) return;
    this.#passUntil(endMs, !isLast);
    this.#sweep();
    this.#passUntil(this.#freeMs, !isLast);
  }

  /** Lets time pass, with the sweeps that are due in it: fewer of long lists while there is somebody to start (U9). */
  #passUntil(wallMs: number, atWork: boolean): void {
    const share = atWork ? workingShare : restingShare;
    const everyMs = Math.max(this.#input.resyncMs, share * this.#sweepRequests * this.#slotMs);
    const due = Math.floor((wallMs - this.#sweptMs) / everyMs);
    if (due > 0) {
      this.#sweptMs += due * everyMs;
      this.#sweeps += due * this.#sweepRequests;
      // Those before it had their time while nothing else happened.
      this.#spend(this.#sweepRequests);
    }
    this.#nowMs = Math.max(this.#nowMs, wallMs);
  }

  #sweep(): void {
    this.#sweptMs = this.#nowMs;
    this.#sweeps += this.#sweepRequests;
    this.#spend(this.#sweepRequests);
  }

  #spend(requests: number): void {
    if (requests > 0) this.#freeMs = Math.max(this.#freeMs, this.#nowMs) + requests * this.#slotMs;
  }
}

/**
 * Pages up to one that is not full; a single page that may have been cut down is followed by an empty one. Then a request proves that
 * nobody was left out (U7), and the builds are asked for, too.
 */
function requestsOfSweep(listed: number, pageRows: number): number {
  const pages = Math.floor(listed / pageRows) + 1;
  const mayBeCut = listed >= defaultRows && listed < pageRows;
  return pages + Number(mayBeCut) + 2;
}
