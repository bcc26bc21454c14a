/**
 * Predicts how long a rollout takes and how many requests it needs. Simulates each upgrade from its request to the read
 * that shows its end. The forecast assumes that no upgrade fails and that all upgrades take the same time. It ignores
 * late responses and other clients of the service.
 */
import type { TimeRange } from '../../base/time-range.ts';
import { idleShare } from '../../fleet/fleet-listing.ts';
import { workingShare } from '../admission/read-plan.ts';
import { countDelayMs, requestsOfAnalysis } from '../analysis/message-analysis.ts';
import { policySettings } from '../attempts/settings.ts';
import type { WaitCause } from '../rollout/wait-cause.ts';
import type { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';
import { type ForecastMember, ForecastQueue } from './forecast-queue.ts';
import { ForecastReads } from './forecast-reads.ts';

export interface ForecastStage {
  /** Collectors to upgrade, in the order in which their upgrades start. */
  readonly members: readonly ForecastMember[];
  /** Maximum number of running upgrades in the stage. Undefined if the stage has no limit. */
  readonly maxInProgress: number | undefined;
  readonly soakMs: number;
  /** True if the stage needs an approval. The forecast assumes that a user approves it immediately. */
  readonly needsApproval: boolean;
  /** Wall-clock times in ms at which running upgrades started. */
  readonly inFlight?: readonly number[];
  /** Wall-clock time in ms at which the stage's current soak ends. */
  readonly soakedMs?: number | undefined;
  /** True if the messages of the stage's collectors are counted after the soak. */
  readonly isAnalyzed?: boolean;
  /** Reason why the stage cannot end. Undefined if the stage can end. */
  readonly heldBy?: WaitCause | undefined;
}

export interface ForecastInput {
  /** Stages of the rollout in order. For a policy without stages, all collectors are in one stage. */
  readonly stages: readonly ForecastStage[];
  /** The policy's `strategy.maxInProgress`, as a number of upgrades. */
  readonly maxInProgress: number;
  /**
   * Maximum number of requests per second: 4, or less if the Secret sets a lower limit (section 8 of docs/service.md).
   */
  readonly requestsPerSecond: number;
  /** Duration of one upgrade in ms. */
  readonly upgradeMs: number;
  /** True if `upgradeMs` already includes the delay until a read shows that the upgrade has ended. */
  readonly isMeasured?: boolean;
  readonly calendar: MaintenanceCalendar;
  /** Wall-clock time in ms at which the forecast begins. */
  readonly startMs: number;
  /** Number of collectors in the service's list, including collectors that are not upgraded. */
  readonly listed: number;
  /** Maximum number of collectors per page of the list. */
  readonly pageRows: number;
  readonly resyncMs: number;
}

export interface ForecastOfStage {
  /** Start of the stage as wall-clock time in ms. */
  readonly startMs: number;
  /** Expected end of the stage, as wall-clock time in ms. Undefined if the stage can never end. */
  readonly endMs: number | undefined;
  /** True if the expected times also depend on when a user approves this stage or an earlier one. */
  readonly afterApproval: boolean;
}

export interface Forecast {
  /** Wall-clock time in ms at which the forecast begins. */
  readonly startMs: number;
  /** Stages that start according to the forecast. */
  readonly stages: readonly ForecastOfStage[];
  /** Duration of the rollout in ms; undefined if the rollout never ends. */
  readonly totalMs: number | undefined;
  /** Reason why the rollout can never end. Undefined if the rollout ends. */
  readonly waitsForEver: WaitCause | undefined;
  /** Predicted numbers of requests to the service, by kind. */
  readonly requests: ForecastRequests;
  /** Maintenance windows in which an upgrade starts, in order of time. */
  readonly windows: readonly TimeRange[];
}

export interface ForecastRequests {
  readonly posts: number;
  /** Number of requests that read an upgrade task or a single page of the collector list. */
  readonly reads: number;
  /** Number of requests that read the whole collector list or the list of builds. */
  readonly sweeps: number;
  /** Number of requests for message analyses. */
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
  /** Simulated wall-clock time in ms at which the rate limits allow another request. */
  #freeMs: number;
  #sweptMs: number;
  readonly #requests = { posts: 0, reads: 0, sweeps: 0, counts: 0 };

  constructor(input: ForecastInput) {
    this.#input = input;
    this.#slotMs = 1_000 / input.requestsPerSecond;
    // A read of the whole list sends one request per page, and three further requests: for an empty last page, the list
    // of builds, and a check for hidden collectors (U7).
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
    let waitsForEver: WaitCause | undefined;
    this.#sweep();
    for (const stage of this.#input.stages) {
      afterApproval ||= stage.needsApproval;
      const queue = new ForecastQueue(stage.members, this.#input);
      // A stage starts when a maintenance window is open for one of its collectors (R2).
      const begunMs = stage.inFlight?.length ? this.#nowMs : queue.firstStartMs(this.#nowMs);
      const isLast = stage === this.#input.stages.at(-1);
      waitsForEver = this.#upgradeAll(stage, queue, isLast) ?? stage.heldBy;
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

  /** Simulates all upgrades of a stage. Returns the reason why the stage can never end, if any. */
  #upgradeAll(stage: ForecastStage, queue: ForecastQueue, isLast: boolean): WaitCause | undefined {
    const { maxInProgress = Infinity, inFlight = [] } = stage;
    const places = Math.min(this.#input.maxInProgress, maxInProgress, policySettings.maxOpen);
    this.#followUp(inFlight);
    while (queue.waiting > 0 || this.#reads.open > 0) {
      this.#passUntil(this.#freeMs, queue.waiting > 0 || !isLast);
      const hasPlace = this.#reads.open < places;
      const pressed = queue.waiting === 0 || !hasPlace || !isLast;
      if (this.#reads.take(this.#nowMs, pressed)) {
        this.#spend('reads', 1);
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
      if (nextMs === Infinity) return queue.cause(this.#nowMs);
      this.#passUntil(nextMs, !waitsForOpening && (queue.waiting > 0 || !isLast));
    }
    return undefined;
  }

  /** Adds the running upgrades to the forecast. Assumes that their collectors are spread evenly over the list. */
  #followUp(inFlight: readonly number[]): void {
    const { listed, pageRows, upgradeMs } = this.#input;
    const begun = inFlight.map((beganMs) => Math.max(beganMs, this.#nowMs - upgradeMs)).sort((a, b) => a - b);
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

  /** Simulates a stage's soak, then the read of the collector list that must follow it, then the message analysis. */
  #soak({ members, soakMs, inFlight = [], soakedMs, isAnalyzed }: ForecastStage, isLast: boolean): void {
    const isIdle = inFlight.length === 0 && members.length === 0;
    const endMs = isIdle ? soakedMs : this.#nowMs + soakMs;
    if (soakMs === 0 || endMs === undefined) return;
    this.#passUntil(endMs, !isLast);
    this.#sweep();
    this.#passUntil(this.#freeMs, !isLast);
    if (!isAnalyzed) return;
    this.#passUntil(endMs + countDelayMs(policySettings), !isLast);
    this.#spend('counts', requestsOfAnalysis(this.#input.listed));
    this.#passUntil(this.#freeMs, !isLast);
  }

  /** Advances the simulated clock and counts the reads of the whole collector list (U9). */
  #passUntil(wallMs: number, atWork: boolean): void {
    const share = atWork ? workingShare : idleShare;
    const everyMs = Math.max(this.#input.resyncMs, share * this.#sweepRequests * this.#slotMs);
    const due = Math.floor((wallMs - this.#sweptMs) / everyMs);
    if (due > 0) {
      this.#sweptMs += due * everyMs;
      // Several reads may have become due in the meantime. Only the last of them can delay upgrades, so the earlier
      // ones are counted but not simulated.
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
