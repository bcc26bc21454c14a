/**
 * Runs the operator on a virtual clock against a simulated service and API server. Runs with the same plan are
 * identical.
 */
import { createHash } from 'node:crypto';
import { annotations } from '../../src/api/annotations.ts';
import { maxRejections, missingForConvergence, rejectsWithoutReason } from './convergence.ts';
import { violationsOf } from './oracles.ts';
import type { Action, HistoryPlan } from './plan.ts';
import type { HistoryRecord } from './record.ts';
import { SimulationWorld } from './simulation-world.ts';

/** Maximum time in ms from the last fault until each policy is complete, or its status says why it is not. */
const convergeWithinMs = 90 * 60_000;
/** Maximum delay in ms before the operator repeats an upgrade request that was rejected without a reason. */
const rejectedDelayMs = 60_000;
const lookEveryMs = 5_000;
/** Time in ms for which all policies must stay complete. */
const idleMs = 90_000;

export interface HistoryResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Hash of all requests, which shows whether two runs were identical. */
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

/** Waits until each policy is complete, or its status says why it is not. Then checks that this state lasts. */
async function settle(world: SimulationWorld, plan: HistoryPlan) {
  const deadlineMs = plan.calmAtMs + convergeWithinMs + rejectionsMs(world, plan);
  const mayWait = plan.policies.some(({ spec }) => spec['offlinePolicy'] === 'Wait');
  // A maintenance exclusion that has begun for one leader may not have begun for the next leader, whose clock is slow.
  // The policy then resumes its upgrades for a while.
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
    await world.clock.advance(idleMs);
    missing = missingForConvergence(world.truth());
    const stayed = missing.length === 0 && world.postsSince(convergedAtMs) === 0;
    if (stayed || !mayRelapse) return { convergedAtMs, missing };
  }
}

/**
 * Returns the maximum time in ms until each collector counts as refused, if the service rejects all upgrade requests
 * without a reason. The operator then sends only one request at a time (U11).
 */
function rejectionsMs(world: SimulationWorld, plan: HistoryPlan): number {
  if (!rejectsWithoutReason(plan)) return 0;
  return world.truth().state.collectors.length * maxRejections * rejectedDelayMs;
}

/** Reports whether an upgrade might still succeed long after the operator has marked it as timed out (U6). */
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
