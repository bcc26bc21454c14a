/** Simulates an export until it ends or time runs out. Runs with the same plan are identical. */
import { createHash } from 'node:crypto';
import { ExportHistoryWorld } from './export-history-world.ts';
import { rowsOfFiles } from './file-rows.ts';
import type { HistoryProcess } from './history-process.ts';
import { violationsOf } from './oracles.ts';
import type { ExportHistoryPlan } from './plan.ts';
import type { ExportAction } from './planned-actions.ts';
import type { ExportHistoryRecord } from './record.ts';

const lookEveryMs = 5_000;
const steadyLooks = 3;
const maxAsked = 2;
/** Time in ms after which the service has cancelled all search jobs that are no longer polled. */
const idleMs = 90_000;

export interface ExportHistoryResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Hash of all requests and the destination's content. Equal hashes show that two simulations were identical. */
  readonly digest: string;
  readonly record: ExportHistoryRecord;
}

export async function runHistory(
  plan: ExportHistoryPlan,
  trace?: (line: string) => void,
): Promise<ExportHistoryResult> {
  const world = new ExportHistoryWorld(plan, trace);
  world.start('first');
  for (const action of plan.actions) world.clock.after(action.atMs, () => perform(world, action));
  await world.clock.advance(plan.calmAtMs);
  world.calm();
  const isEnded = await untilEnded(world, plan.completeWithinMs);
  const completeAtMs = isEnded ? world.clock.monotonic() : undefined;
  await world.clock.advance(idleMs);
  const record = {
    ...world.record(completeAtMs),
    files: await rowsOfFiles(world.store.objects, world.definition.identity.results),
  };
  world.end();
  return { seed: plan.seed, violations: violationsOf(record), digest: digestOf(record), record };
}

/**
 * Waits until each process either has completed the export or is waiting for a user. Returns false if this takes too
 * long.
 */
async function untilEnded(world: ExportHistoryWorld, completeWithinMs: number): Promise<boolean> {
  const deadlineMs = world.clock.monotonic() + completeWithinMs;
  let asked = 0;
  let looks = 0;
  while (world.clock.monotonic() < deadlineMs) {
    await world.clock.advance(lookEveryMs);
    const { processes, isWhole } = world;
    const isWaiting = ({ reported }: HistoryProcess) => reported?.isStalled;
    const areEnded = isWhole && processes.every((process) => process.reported?.isComplete || isWaiting(process));
    looks = areEnded ? looks + 1 : 0;
    if (looks < steadyLooks) continue;
    // The user requests the check a second time, because a fault might have interrupted the first one.
    if (asked === maxAsked || !processes.some(isWaiting)) return true;
    asked++;
    looks = 0;
    world.askAgain();
  }
  return false;
}

function perform(world: ExportHistoryWorld, action: ExportAction): void {
  world.note(`action ${JSON.stringify(action)}`);
  switch (action.kind) {
    case 'start':
      world.start(action.seat);
      break;
    case 'kill':
      world.kill(action.seat, action.againAfterMs);
      break;
    case 'stop':
      world.stop(action.seat, action.againAfterMs);
      break;
    case 'killAtEffect':
      world.killAtEffect(action.seat, action);
      break;
    case 'freeze':
      world.freeze(action.seat, action.forMs);
      break;
    case 'pause':
      world.pause(action.isPaused);
      break;
    case 'again':
      world.askAgain();
      break;
  }
}

function digestOf({ journal, store }: ExportHistoryRecord): string {
  const hash = createHash('sha256');
  for (const entry of journal) hash.update(JSON.stringify(entry));
  for (const [name, content] of store.objects) hash.update(name).update(content);
  return hash.digest('hex').slice(0, 16);
}
