/** The upgrade API of the simulated service, and the scenario's fleet. */

import type { Timeline } from '../base/timeline.ts';
import { SimulatedFleet } from '../collectors/fleet.ts';
import { CollectorLists } from '../collectors/listing.ts';
import { Shipping } from '../collectors/shipping.ts';
import type { Api, Methods, PreparedCall, ServiceCall, ServiceRequest } from '../requests/call.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { Settings } from '../scenario/settings.ts';
import { readTaskDefinition, UpgradeOperations } from './upgrade-operations.ts';
import { Upgrades } from './upgrades.ts';

const root = '/v1/collectors/upgrades';

export class UpgradeApi implements Api {
  readonly fleet: SimulatedFleet;
  readonly upgrades: Upgrades;
  readonly shipping: Shipping;
  readonly #listing: CollectorLists;
  readonly #operations: UpgradeOperations;
  tasksAccepted = 0;
  createTaskRequests = 0;

  constructor(settings: Settings, timeline: Timeline, startMs: number) {
    this.shipping = new Shipping(settings, startMs);
    this.fleet = new SimulatedFleet(settings.firstCollectorId, (collector, atMs) =>
      this.shipping.record(collector, atMs),
    );
    this.upgrades = new Upgrades(this.fleet, timeline, settings.firstTaskId);
    this.#listing = new CollectorLists(this.fleet);
    this.#operations = new UpgradeOperations(this.fleet, this.upgrades, this.#listing);
  }

  declare(scenario: Scenario, before: Scenario, settings: Settings, atMs: number): void {
    this.#listing.clear();
    if (scenario.builds !== before.builds) this.shipping.declare(settings, this.fleet.all(), atMs);
    // A merge patch does not copy unchanged objects, so equal references mean that nothing has changed.
    if (scenario.groups === before.groups && scenario.collectors === before.collectors) return;
    for (const collector of this.fleet.declare(scenario, atMs, false)) this.upgrades.resume(collector, atMs);
  }

  methodsAt(path: string): Methods | undefined {
    const operations = this.#operations;
    if (path === root) return { POST: (request) => this.#prepareTask(request) };
    if (path === `${root}/collectors`) {
      return { GET: () => ({ operation: 'listCollectors', act: (call) => operations.listCollectors(call) }) };
    }
    if (path === `${root}/targets`) {
      return { GET: () => ({ operation: 'listBuilds', act: (call) => operations.listBuilds(call) }) };
    }
    const id = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : '';
    if (id === '' || id.includes('/')) return undefined;
    const collector = this.upgrades.get(id)?.collector;
    return { GET: () => ({ operation: 'getTask', collector, act: (call) => operations.getTask(id, call) }) };
  }

  #prepareTask({ body }: ServiceRequest): PreparedCall {
    const definition = readTaskDefinition(body);
    const collector = definition?.collectorId === undefined ? undefined : this.fleet.byId(definition.collectorId);
    this.createTaskRequests++;
    if (collector) collector.createTaskRequests++;
    const act = (call: ServiceCall) => {
      const outcome = this.#operations.createTask(definition, call);
      if (!('refusal' in outcome)) this.tasksAccepted++;
      return outcome;
    };
    return { operation: 'createTask', collector, collectorId: definition?.collectorId, act };
  }
}
