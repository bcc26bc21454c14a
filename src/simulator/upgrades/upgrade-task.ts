/**
 * One upgrade task (2.9, 3.2) and its course through time.
 *
 *     0 not started → 1 pending → 6 progressing → 2 succeeded | 3 failed
 *                  any of the first three, after the time-out → 3
 *
 * The first three follow from the clock alone and are computed when somebody asks; how it ended is told to it.
 */

import type { Settings } from '../settings.ts';
import type { Collector } from './collector.ts';

export interface UpgradeTask {
  /** Decimal digits. */
  readonly id: string;
  readonly collector: Collector;
  readonly fromVersion: string;
  readonly toVersion: string;
  /** Made by somebody else, through an event of the scenario. */
  readonly foreign: boolean;
  readonly requestedMs: number;
  /** When it leaves status 0, and status 1. */
  readonly pendingAtMs: number;
  readonly progressingAtMs: number;
  readonly progressingStatus: number;
  /** From when on `collector.in.upgrading` shows. */
  readonly lockedAtMs: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly endStatus: number | undefined;
  readonly endMessage: string;
  /** How the task ended, as its status says. */
  finished: { readonly status: number; readonly message: string; readonly atMs: number } | undefined;
  /** When the collector itself was through with it, whatever the task said by then. */
  collectorEndMs: number | undefined;
}

/** The status code of 3.2 at a time not before its last change. */
export function statusAt(task: UpgradeTask, atMs: number): number {
  if (task.finished) return task.finished.status;
  if (atMs < task.pendingAtMs) return 0;
  if (atMs < task.progressingAtMs || !task.collector.now.running) return 1;
  return task.progressingStatus;
}

/** The answer of 4.8. */
export function renderTask(task: UpgradeTask, atMs: number, settings: Settings['task']): string {
  const requestTime = Math.floor(settings.requestTimeUnit === 's' ? task.requestedMs / 1000 : task.requestedMs);
  const members = [`"id":${task.id}`];
  if (!settings.omit.includes('collectorId')) members.push(`"collectorId":${task.collector.id}`);
  if (!settings.omit.includes('toVersion')) members.push(`"toVersion":${JSON.stringify(task.toVersion)}`);
  if (!settings.omit.includes('requestTime')) members.push(`"${settings.requestTimeMember}":${requestTime}`);
  members.push(`"status":${statusAt(task, atMs)}`);
  if (!settings.omit.includes('message')) members.push(`"message":${JSON.stringify(task.finished?.message ?? '')}`);
  return `{"upgrade":{${members.join(',')}}}`;
}
