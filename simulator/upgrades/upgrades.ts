/**
 * Upgrades in the simulated service. An upgrade can end after its task has timed out. The collector then gets the new
 * version, although the task has failed.
 */
import { drawFor } from '../base/chance.ts';
import { pickFrom, type Span } from '../base/span.ts';
import type { Timeline } from '../base/timeline.ts';
import type { SimulatedCollector, SimulatedTask } from '../collectors/collector.ts';
import type { SimulatedFleet } from '../collectors/fleet.ts';
import { type Settings, type UpgradeOutcome, type UpgradeSettings, upgradeSettings } from '../scenario/settings.ts';

const success: UpgradeOutcome = {
  share: 1,
  end: 'succeed',
  message: '',
  status: undefined,
  duration: undefined,
  attempts: Number.POSITIVE_INFINITY,
  toVersion: undefined,
};

export interface NewTask {
  readonly collector: SimulatedCollector;
  readonly toVersion: string;
  /**
   * Present if another tool, rather than a client request, started the upgrade. The scenario's `outcomes` do not apply
   * to this upgrade.
   */
  readonly foreign?: { readonly durationMs: number | undefined };
}

export class Upgrades {
  readonly #tasks = new Map<string, SimulatedTask>();
  readonly #fleet: SimulatedFleet;
  readonly #timeline: Timeline;
  #nextId: bigint;

  constructor(fleet: SimulatedFleet, timeline: Timeline, firstId: bigint) {
    this.#fleet = fleet;
    this.#timeline = timeline;
    this.#nextId = firstId;
  }

  get(id: string): SimulatedTask | undefined {
    return this.#tasks.get(id);
  }

  all(): Iterable<SimulatedTask> {
    return this.#tasks.values();
  }

  /** Reports whether the service refuses to accept another upgrade task for the collector at `atMs`. */
  isLocked(collector: SimulatedCollector, atMs: number): boolean {
    return collector.activeTasks.some(({ lockedAtMs }) => lockedAtMs <= atMs);
  }

  start({ collector, toVersion, foreign }: NewTask, settings: Settings, atMs: number): SimulatedTask {
    const upgrade = settingsFor(collector, settings.upgrade);
    const attempt = foreign ? 0 : ++collector.acceptedTasks;
    const outcome = foreign ? success : outcomeFor({ collector, toVersion }, attempt, upgrade, settings.seed);
    const wholeSpan = foreign?.durationMs === undefined ? outcome.duration : fixed(foreign.durationMs);
    const draw = drawFor(settings.seed, 'duration', collector.id, attempt);
    const unscaledMs = wholeSpan ? pickFrom(wholeSpan, draw) : pickFrom(upgrade.duration, draw) * upgrade.increments;
    const durationMs = unscaledMs / settings.timeScale;
    const pendingAtMs = atMs + Math.min(upgrade.notStartedForMs / settings.timeScale, durationMs / 3);
    const task: SimulatedTask = {
      id: String(this.#nextId++),
      collector,
      fromVersion: collector.now.version,
      toVersion,
      foreign: foreign !== undefined,
      requestedMs: atMs,
      pendingAtMs,
      progressingAtMs: pendingAtMs + Math.min(upgrade.pendingForMs / settings.timeScale, durationMs / 3),
      progressingStatus: upgrade.progressingStatus,
      lockedAtMs: atMs + upgrade.lockDelayMs,
      end: outcome.end,
      endStatus: outcome.status,
      endMessage: outcome.message,
      finished: undefined,
      collectorEndMs: undefined,
    };
    this.#tasks.set(task.id, task);
    collector.activeTasks.push(task);
    if (task.end !== 'hang') this.#timeline.at(atMs + durationMs, (endMs) => this.#endOnCollector(task, endMs));
    this.#timeline.at(atMs + upgrade.timeoutMs / settings.timeScale, (endMs) => this.#timeOut(task, upgrade, endMs));
    return task;
  }

  /** Ends the upgrades that were waiting for the collector to regain contact with the service. */
  resume(collector: SimulatedCollector, atMs: number): void {
    for (const task of collector.heldUpgrades.splice(0)) this.#endOnCollector(task, atMs);
  }

  #endOnCollector(task: SimulatedTask, atMs: number): void {
    const { collector } = task;
    if (!collector.now.present) {
      // A collector that has left the fleet is not upgraded. Its task times out, but new tasks may start once the
      // collector is back.
      release(task);
      return;
    }
    if (!collector.now.running) {
      collector.heldUpgrades.push(task);
      return;
    }
    task.collectorEndMs = atMs;
    if (task.end === 'succeed') this.#fleet.change(collector, { version: task.toVersion }, atMs);
    task.finished ??= {
      status: task.endStatus ?? (task.end === 'succeed' ? 2 : 3),
      message: task.endMessage,
      atMs,
    };
    release(task);
  }

  #timeOut(task: SimulatedTask, settings: UpgradeSettings, atMs: number): void {
    task.finished ??= { status: 3, message: 'The upgrade did not complete in time.', atMs };
    const goesOn = task.end !== 'hang' && task.collector.now.running;
    if (settings.lockUntil === 'timeout' || !goesOn) release(task);
  }
}

function release(task: SimulatedTask): void {
  const { activeTasks } = task.collector;
  const index = activeTasks.indexOf(task);
  if (index >= 0) activeTasks.splice(index, 1);
}

/**
 * Returns the upgrade settings of the collector or, if it has none, of its group. Absent settings are taken from the
 * scenario's `upgrade`.
 */
export function settingsFor(collector: SimulatedCollector, common: UpgradeSettings): UpgradeSettings {
  const own = collector.properties.upgrade;
  return own ? upgradeSettings(own, common) : common;
}

/** Chooses the outcome of an upgrade at random. The outcome does not depend on the order of requests. */
function outcomeFor(
  { collector, toVersion }: NewTask,
  attempt: number,
  settings: UpgradeSettings,
  seed: number,
): UpgradeOutcome {
  let rest = drawFor(seed, 'outcome', collector.id, attempt);
  for (const outcome of settings.outcomes) {
    if (attempt > outcome.attempts || toVersion !== (outcome.toVersion ?? toVersion)) continue;
    if (rest < outcome.share) return outcome;
    rest -= outcome.share;
  }
  return success;
}

function fixed(durationMs: number): Span {
  return { minMs: durationMs, maxMs: durationMs };
}
