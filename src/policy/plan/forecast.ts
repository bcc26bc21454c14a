/**
 * Predicts the duration and the number of requests of a rollout without failures. Each upgrade is simulated from its POST
 * until a read shows its end. The simulated clock jumps from event to event. The forecast is deterministic and has no side
 * effects.
 *
 * The forecast models the order of upgrades and the limits for starting them (`admission.ts`), the reads that show the ends
 * of upgrades (`forecast-reads.ts`, like `watch-plan.ts`), sweeps of the collector list (U9), message analyses (R11),
 * maintenance windows, and one request rate for all of these. It does not model late answers, other clients of the same
 * request budget, or upgrades of different durations.
 */
import type { TimeRange } from '../../api/time-range.ts';
import { restingShare } from '../../fleet/fleet-listing.ts';
import { requestsOfAnalysis, settleMs } from '../analysis/message-analysis.ts';
import { workingShare } from '../attempts/read-plan.ts';
import type { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';
import { policySettings } from '../settings.ts';
import { type ForecastMember, ForecastQueue } from './forecast-queue.ts';
import { ForecastReads } from './forecast-reads.ts';

export interface ForecastStage {
  /** Collectors that the stage must upgrade, in the order of their starts. */
  readonly members: readonly ForecastMember[];
  /** Maximum number of upgrades in flight in the stage; undefined when the stage sets no limit. */
  readonly maxInProgress: number | undefined;
  readonly soakMs: number;
  /** Whether the stage needs an approval. The forecast assumes that a person approves the stage at once. */
  readonly needsApproval: boolean;
  /** Start times of upgrades that are already in flight, as wall times in ms; absent when there are none. */
  readonly underWay?: readonly number[];
  /** Wall time in ms at which the stage's running soak ends; ignored while the stage still has collectors to upgrade. */
  readonly soakedMs?: number | undefined;
  /** Whether the messages of the stage's collectors are counted after the soak. */
  readonly isAnalyzed?: boolean;
  /** Reason why the stage cannot end even after its upgrades, as text that follows "waiting for"; undefined if it can end. */
  readonly heldBy?: string | undefined;
}

export interface ForecastInput {
  /** Stages of the rollout in order. A policy without stages has one stage here. */
  readonly stages: readonly ForecastStage[];
  /** `strategy.maxInProgress` of the policy, converted to a number of upgrades. */
  readonly maxInProgress: number;
  /** Maximum number of requests per second of the account: 4, unless its Secret sets less (section 8). */
  readonly requestsPerSecond: number;
  /** Duration of one upgrade in ms. */
  readonly upgradeMs: number;
  /** Whether `upgradeMs` includes the delay until a read shows the end of the upgrade. */
  readonly isMeasured?: boolean;
  readonly calendar: MaintenanceCalendar;
  /** Start of the forecast's rollout as wall time in ms. */
  readonly startMs: number;
  /** Number of collectors in the service's list, including collectors that need no upgrade. */
  readonly listed: number;
  /** Maximum number of collectors on one page of the list. */
  readonly pageRows: number;
  readonly resyncMs: number;
}

export interface ForecastOfStage {
  /** Start of the stage as wall time in ms. */
  readonly startMs: number;
  /** End of the stage's soak as wall time in ms; undefined when the stage or an earlier stage never ends. */
  readonly endMs: number | undefined;
  /**
   * Whether this stage or an earlier one needs an approval. If so, the actual start and end also depend on when a person
   * approves.
   */
  readonly afterApproval: boolean;
}

export interface Forecast {
  /** Start of the forecast as wall time in ms. */
  readonly startMs: number;
  /** Stages of the rollout that start according to the forecast. */
  readonly stages: readonly ForecastOfStage[];
  /** Duration in ms from the start of the rollout to the end of its last stage; undefined when the rollout never ends. */
  readonly totalMs: number | undefined;
  /** Reason why the rollout never ends, as text that follows "waiting for"; undefined when the rollout ends. */
  readonly waitsForEver: string | undefined;
  /** Predicted numbers of requests to the service, by kind, until the rollout ends or can make no more progress. */
  readonly requests: ForecastRequests;
  /** Maintenance windows in which at least one upgrade starts, in order of time. */
  readonly windows: readonly TimeRange[];
}

export interface ForecastRequests {
  readonly posts: number;
  /** Number of reads of upgrade tasks and single list pages, which show the ends of upgrades. */
  readonly looks: number;
  /** Number of requests for sweeps: reads of the whole collector list and of the list of builds. */
  readonly sweeps: number;
  /** Number of requests that count the messages of collectors, for message analyses. */
  readonly counts: number;
}

export function forecast(input: ForecastInput): Forecast {
  return new Simulation(input).run();
}

class Simulation {
  readonly #input: ForecastInput;
  readonly #slotMs: number;
  readonly #sweepRequests: number;
  readonly #reads: ForecastReads;
  readonly #windows = new Map<string, TimeRange>();
  #nowMs: number;
  /** Simulated wall time in ms from which the request rate of the account allows another request. */
  #freeMs: number;
  #sweptMs: number;
  readonly #requests = { posts: 0, looks: 0, sweeps: 0, counts: 0 };

  constructor(input: ForecastInput) {
    this.#input = input;
    this.#slotMs = 1_000 / input.requestsPerSecond;
    // Each sweep also reads the empty page after the list and the list of builds, and checks once for hidden collectors (U7).
    this.#sweepRequests = Math.ceil(input.listed / input.pageRows) + 3;
    this.#reads = new ForecastReads(input.upgradeMs, input.isMeasured ?? false);
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
      requests: this.#requests,
      windows: [...this.#windows.values()].sort((left, right) => left.fromMs - right.fromMs || left.toMs - right.toMs),
    };
  }

  /** Simulates all upgrades of a stage. Returns the reason why the stage can never end; undefined when it ends. */
  #upgradeAll(stage: ForecastStage, isLast: boolean): string | undefined {
    const { members, maxInProgress = Infinity, underWay = [] } = stage;
    const { calendar, listed, pageRows } = this.#input;
    const queue = new ForecastQueue(members, { calendar, listed, pageRows });
    const places = Math.min(this.#input.maxInProgress, maxInProgress, policySettings.maxOpen);
    this.#followUp(underWay);
    while (queue.waiting > 0 || this.#reads.open > 0) {
      this.#passUntil(this.#freeMs, queue.waiting > 0 || !isLast);
      const hasPlace = this.#reads.open < places;
      const pressed = queue.waiting === 0 || !hasPlace || !isLast;
      if (this.#reads.take(this.#nowMs, pressed)) {
        this.#spend('looks', 1);
        continue;
      }
      const next = hasPlace ? queue.next(this.#nowMs) : undefined;
      if (next) {
        this.#start(next);
        continue;
      }
      const waitsForOpening = hasPlace && queue.waiting > 0;
      const opensAtMs = waitsForOpening ? queue.opensAtMs : Infinity;
      const nextMs = Math.min(this.#reads.nextMs(this.#nowMs, pressed), opensAtMs);
      if (nextMs === Infinity) return queue.reason(this.#nowMs);
      this.#passUntil(nextMs, !waitsForOpening && (queue.waiting > 0 || !isLast));
    }
    return undefined;
  }

  /** Adds upgrades that were in flight before the forecast, assuming that they are spread evenly over the collector list. */
  #followUp(underWay: readonly number[]): void {
    const { listed, pageRows, upgradeMs } = this.#input;
    const begun = underWay.map((beganMs) => Math.max(beganMs, this.#nowMs - upgradeMs)).sort((a, b) => a - b);
    for (const [index, beganMs] of begun.entries()) {
      this.#reads.started(beganMs, Math.floor((index * listed) / begun.length / pageRows));
    }
  }

  #start({ page, zone }: { readonly page: number; readonly zone: string | undefined }): void {
    const window = this.#input.calendar.nextWindow(this.#nowMs, zone === undefined ? [] : [zone]);
    if (window) this.#windows.set(`${window.fromMs} ${window.toMs}`, window);
    this.#spend('posts', 1);
    this.#reads.started(this.#nowMs, page);
  }

  /** Simulates a stage's soak, the sweep (read of the whole collector list) that ends the soak, and the message analysis. */
  #soak({ members, soakMs, underWay = [], soakedMs, isAnalyzed }: ForecastStage, isLast: boolean): void {
    const isIdle = underWay.length === 0 && members.length === 0;
    const endMs = isIdle ? soakedMs : this.#nowMs + soakMs;
    if (soakMs === 0 || endMs === undefined) return;
    this.#passUntil(endMs, !isLast);
    this.#sweep();
    this.#passUntil(this.#freeMs, !isLast);
    if (!isAnalyzed) return;
    this.#passUntil(endMs + settleMs(policySettings), !isLast);
    this.#spend('counts', requestsOfAnalysis(this.#input.listed));
    this.#passUntil(this.#freeMs, !isLast);
  }

  /**
   * Advances the simulated clock and counts the sweeps (reads of the whole list) that become due. Long lists are swept less often
   * while collectors wait for their upgrade (U9).
   */
  #passUntil(wallMs: number, atWork: boolean): void {
    const share = atWork ? workingShare : restingShare;
    const everyMs = Math.max(this.#input.resyncMs, share * this.#sweepRequests * this.#slotMs);
    const due = Math.floor((wallMs - this.#sweptMs) / everyMs);
    if (due > 0) {
      this.#sweptMs += due * everyMs;
      // Only the last of the due sweeps can delay upgrades. During the earlier sweeps, no upgrade needed a request.
      this.#requests.sweeps += (due - 1) * this.#sweepRequests;
      this.#spend('sweeps', this.#sweepRequests);
    }
    this.#nowMs = Math.max(this.#nowMs, wallMs);
  }

  #sweep(): void {
    this.#sweptMs = this.#nowMs;
    this.#spend('sweeps', this.#sweepRequests);
  }

  #spend(kind: keyof ForecastRequests, requests: number): void {
    this.#requests[kind] += requests;
    if (requests > 0) this.#freeMs = Math.max(this.#freeMs, this.#nowMs) + requests * this.#slotMs;
  }
}
