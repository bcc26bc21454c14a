/**
 * Runs one simulated history: the whole operator on a virtual clock, against the simulated service and an API server in memory. The history
 * follows a plan until the world has converged or time is up. The same plan always gives the same history.
 */
import { createHash } from 'node:crypto';
import { annotations } from '../../src/api/annotations.ts';
import { missingForConvergence } from './convergence.ts';
import { violationsOf } from './oracles.ts';
import type { Action, HistoryPlan } from './plan.ts';
import type { HistoryRecord } from './record.ts';
import { SimulationWorld } from './simulation-world.ts';

/** Maximum time in ms from the end of all faults until the history converges. */
const convergeWithinMs = 90 * 60_000;
const lookEveryMs = 5_000;
/** Time in ms for which a history must stay converged, which means that all policies are complete or report why not. */
const restMs = 90_000;

export interface HistoryResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Hash of all requests that the service and the API server received. Two runs with the same hash were the same. */
  readonly digest: string;
  readonly record: HistoryRecord;
}

export async function runHistory(plan: HistoryPlan, trace?: (line: string) => void): Promise<HistoryResult> {
  const world = new SimulationWorld(plan, trace);
  for (const policy of plan.policies) world.createPolicy(policy);
  for (let replica = 0; replica < plan.replicas; replica++) world.startProcess();
  for (const action of plan.actions) world.clock.after(action.atMs, () => perform(world, action));
  await world.clock.advance(plan.calmAtMs);
  world.calm();
  const { convergedAtMs, missing } = await settle(world, plan);
  const record = world.record(convergedAtMs, missing);
  world.end();
  return { seed: plan.seed, violations: violationsOf(record), digest: digestOf(record), record };
}

/**
 * Lets time pass until the history has converged, and then checks that it stays converged. Some histories may leave the converged
 * state and reach it again, for two reasons. Changes by other tools are noticed late, at the next sweep (pass over the collector
 * list; U9). And a policy that waits for offline collectors looks converged until they return.
 */
async function settle(world: SimulationWorld, plan: HistoryPlan) {
  const deadlineMs = plan.calmAtMs + convergeWithinMs;
  const mayWait = plan.policies.some(({ spec }) => spec['offlinePolicy'] === 'Wait');
  // A process that takes over has another wall clock, for which a maintenance exclusion may not have begun yet.
  const mayRelapse =
    mayWait ||
    mayPassOn(plan) ||
    plan.skewMs !== 0 ||
    Object.keys(plan.fleet.events).length > 0 ||
    plan.deaths.length > 0;
  for (;;) {
    let missing = ['never looked'];
    while (world.clock.monotonic() < deadlineMs && missing.length > 0) {
      await world.clock.advance(lookEveryMs);
      missing = missingForConvergence(world.truth());
    }
    if (missing.length > 0) return { convergedAtMs: undefined, missing };
    const convergedAtMs = world.clock.monotonic();
    await world.clock.advance(restMs);
    missing = missingForConvergence(world.truth());
    const stayed = missing.length === 0 && world.postsSince(convergedAtMs) === 0;
    if (stayed || !mayRelapse) return { convergedAtMs, missing };
  }
}

/**
 * Whether an upgrade may succeed long after its time-out (U6). The collector's new version may then make another policy its
 * owner.
 */
function mayPassOn({ policies, scenario }: HistoryPlan): boolean {
  const outcomes = Object.values(scenario.groups ?? {}).flatMap((group) => group?.upgrade?.outcomes ?? []);
  return policies.length > 1 && outcomes.some(({ end, duration }) => end === 'succeed' && duration !== undefined);
}

function perform(world: SimulationWorld, action: Action): void {
  world.note(`action ${JSON.stringify(action)}`);
  switch (action.kind) {
    case 'createPolicy':
      world.createPolicy(action.policy);
      break;
    case 'deletePolicy':
      world.deletePolicy(action.name);
      break;
    case 'patchPolicy':
      world.patchPolicy(action.name, action.patch);
      break;
    case 'approver':
      world.approve(action.name, action.everyMs);
      break;
    case 'retry':
    case 'abort':
      world.annotateRollout(action.name, annotations[action.kind], action.mark);
      break;
    case 'settings':
      world.pauseAll(action.paused);
      break;
    case 'backup':
      world.backUp();
      break;
    case 'restore':
      world.restore();
      break;
    case 'compact':
      world.api.compact();
      break;
    case 'kill':
      world.kill(world.process(action.replica), action.againAfterMs);
      break;
    case 'stop':
      world.stop(world.process(action.replica), action.againAfterMs);
      break;
    case 'freeze':
      world.freeze(world.process(action.replica), action.forMs);
      break;
    case 'killAtRequest':
      world.killAtRequest(world.process(action.replica), action);
      break;
  }
}

function digestOf({ journal, api }: HistoryRecord): string {
  const hash = createHash('sha256');
  for (const entry of journal) hash.update(JSON.stringify(entry));
  for (const entry of api) hash.update(JSON.stringify(entry));
  return hash.digest('hex').slice(0, 16);
}
