/** Health of a resource (ready, in progress, stalled or in an outage), and its conversion to conditions for kstatus. */

import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../api/conditions.ts';
import type { ResourceEvent } from '../host/host.ts';

/** Condition reasons for problems that logfleet finds in the spec or in Secrets, without a request to the service. */
export const reasonsOfSpecAndSecrets: readonly string[] = [
  reasons.paused,
  reasons.invalidSpec,
  reasons.secretNotFound,
  reasons.secretIncomplete,
  reasons.secretInvalid,
  reasons.addressInvalid,
];

export interface Health {
  readonly ready: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** Message to the user in two sentences. The first says why the resource is in this state, the second what to do. */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
  /** True while logfleet is retrying requests because the service or a destination is not working (H2). */
  readonly outage?: boolean;
  /** True if `message` already contains the start time of the outage, so that the time need not be appended. */
  readonly mentionsOutageStart?: boolean;
}

/**
 * Default values for the fields of `Health` in three cases.
 * - `resting`: the resource has nothing to do.
 * - `atWork`: the resource has work in progress.
 * - `stalled`: the resource is waiting for a user to act.
 */
export const resting = { reconciling: false, stalled: false } as const;
export const atWork = { ready: 'False', reconciling: true, stalled: false } as const;
export const stalled = { ready: 'False', reconciling: false, stalled: true } as const;

export interface ShownHealth {
  readonly conditions: readonly Condition[];
  /** Start of the current outage, if there is one. */
  readonly outageStartTime?: string;
}

/** Duration in ms after which the `Outage` condition reports an outage, for alerts (H2). */
const lastingOutageMs = 600_000;

/**
 * Sets the conditions `Ready`, `Reconciling`, `Stalled` and `Outage`, and keeps all other conditions. An outage keeps
 * its start time when its reason changes.
 */
export function describeHealth(
  before: Partial<ShownHealth> | undefined,
  health: Health,
  observedGeneration: number,
  nowIso: string,
): ShownHealth {
  const { ready, reason, reconciling, stalled } = health;
  const shownMs = Date.parse(before?.outageStartTime ?? '');
  const began = shownMs <= Date.parse(nowIso) ? before?.outageStartTime : nowIso;
  const since = health.outage ? began : undefined;
  const isWhole = since === undefined || health.mentionsOutageStart;
  const message = isWhole ? health.message : `${health.message} This has lasted since ${since}.`;
  const isLasting = since !== undefined && Date.parse(nowIso) >= Date.parse(since) + lastingOutageMs;
  const change = { reason, message, observedGeneration };
  let conditions = setCondition(before?.conditions, { ...change, type: 'Ready', status: ready }, nowIso);
  for (const [type, on] of [
    ['Reconciling', reconciling],
    ['Stalled', stalled],
    ['Outage', isLasting],
  ] as const) {
    conditions = on
      ? setCondition(conditions, { ...change, type, status: 'True' }, nowIso)
      : removeCondition(conditions, type);
  }
  return { conditions, ...(since === undefined ? {} : { outageStartTime: since }) };
}

/**
 * Returns the time in ms until the condition `Outage` must be set. If there is no outage, or the condition is already
 * set, returns Infinity.
 */
export function outageDueMs({ conditions, outageStartTime }: Partial<ShownHealth>, wallMs: number): number {
  if (outageStartTime === undefined || findCondition(conditions, 'Outage')) return Number.POSITIVE_INFINITY;
  return Date.parse(outageStartTime) + lastingOutageMs - wallMs;
}

/** Returns true if the `Ready` condition shows a pause, an outage or unread data instead of the resource's state. */
export function isInterrupted({ conditions, outageStartTime }: Partial<ShownHealth>): boolean {
  const ready = findCondition(conditions, 'Ready');
  return outageStartTime !== undefined || ready?.status === 'Unknown' || ready?.reason === reasons.progressing;
}

/**
 * Reasons of the `Ready` condition that need a user's attention even if the resource is not stalled. An Event with one
 * of these reasons is a warning.
 */
export const needsAttention: ReadonlySet<string> = new Set([
  reasons.awaitingApproval,
  reasons.rollingBack,
  reasons.exportedIncomplete,
]);

/**
 * Returns the Events for a status change: one for a new status or reason of the `Ready` condition, and one for a new
 * `Outage` condition (H1).
 * @param hasNews true if something new has happened although the state is the same; a warning is then repeated
 */
export function transitionsTo(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  { ready, reason, message, reconciling, stalled, outage }: Health,
  hasNews: boolean,
): readonly ResourceEvent[] {
  const was = findCondition(before, 'Ready');
  const type = stalled || outage || needsAttention.has(reason) ? 'Warning' : 'Normal';
  // The first status of a resource causes an Event only if work has begun, or if there is a problem.
  const hasBegun = reconciling && reason !== reasons.progressing;
  const isWarning = type === 'Warning';
  const isNew = was ? was.reason !== reason || was.status !== ready || (hasNews && isWarning) : hasBegun || isWarning;
  const lasting = findCondition(after, 'Outage');
  return [
    ...(isNew ? [{ type, reason, message, stalled } as const] : []),
    ...(lasting && !findCondition(before, 'Outage')
      ? [{ type: 'Warning', reason: reasons.outage, message: lasting.message } as const]
      : []),
  ];
}
