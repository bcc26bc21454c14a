/**
 * Scenario events: upgrades by other tools, manual installations, and changes to the scenario. Each event happens once.
 */

import { durationMs } from './base/span.ts';
import type { Timeline } from './base/timeline.ts';
import type { SimulatedFleet } from './collectors/fleet.ts';
import type { EventScenario, Scenario } from './scenario/scenario.ts';
import type { Settings } from './scenario/settings.ts';
import type { Upgrades } from './upgrades/upgrades.ts';

export interface EventContext {
  readonly timeline: Timeline;
  readonly fleet: SimulatedFleet;
  readonly upgrades: Upgrades;
  readonly settings: () => Settings;
  readonly patch: (patch: unknown, atMs: number) => void;
}

export class ScheduledEvents {
  readonly #world: EventContext;
  /**
   * JSON of each event in the scenario, by event name. When the scenario changes, its events are compared with this
   * JSON to find out which events have changed.
   */
  #declared = new Map<string, string>();

  constructor(world: EventContext) {
    this.#world = world;
  }

  declare({ events = {} }: Scenario, startMs: number, nowMs: number): void {
    const declared = new Map(Object.entries(events).map(([name, event]) => [name, JSON.stringify(event)]));
    const before = this.#declared;
    this.#declared = declared;
    for (const [name, event] of Object.entries(events)) {
      const text = declared.get(name);
      if (before.get(name) === text) continue;
      this.#world.timeline.at(Math.max(nowMs, startMs + (durationMs(event.at) ?? 0)), (atMs) => {
        if (this.#declared.get(name) === text) this.#happen(event, atMs);
      });
    }
  }

  #happen(event: EventScenario, atMs: number): void {
    const { fleet, upgrades, settings, patch } = this.#world;
    const collectors = event.collectors ? fleet.matching(event.collectors).filter(({ hosted }) => !hosted) : [];
    if (event.setVersion !== undefined) {
      for (const collector of collectors) fleet.change(collector, { version: event.setVersion }, atMs);
    }
    if (event.upgrade) {
      const { toVersion, duration } = event.upgrade;
      for (const collector of collectors) {
        if (collector.activeTasks.length > 0) continue;
        upgrades.start({ collector, toVersion, foreign: { durationMs: durationMs(duration) } }, settings(), atMs);
      }
    }
    if (event.patch) patch(event.patch, atMs);
  }
}
