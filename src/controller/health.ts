/** Health verdict of a resource, and its conversion to status conditions in the kstatus style. */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../api/conditions.ts';

/**
 * Reasons for problems in the spec and the Secrets. These problems are found before any request to the service, and the operator
 * and the commands report them with the same reasons.
 */
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
  /**
   * Message of the health verdict: a sentence that says why nothing happens, and a sentence that says what to do
   * if a person can act.
   */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
  /**
   * Whether a dependency fails now and logfleet retries it. Dependencies are the service, the destination of an export, and
   * their rate limits (H2).
   */
  readonly outage?: boolean;
}

/** Fields of a resource's status that show its health verdict. All kinds of resources have these fields. */
export interface ShownHealth {
  readonly conditions: readonly Condition[];
  /** Start time of the current outage; absent when there is none. */
  readonly outageStartTime?: string;
}

/** Duration in ms after which an outage counts as lasting and gets its own condition for alerts (H2). */
export const lastingOutageMs = 600_000;

/**
 * Sets the conditions `Ready`, `Reconciling`, `Stalled` and `Outage` from the health verdict and keeps all other conditions. An
 * outage that continues with another reason keeps its start time. A start time that cannot be parsed or lies in the future is
 * ignored.
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
  const message = since === undefined ? health.message : `${health.message} This has lasted since ${since}.`;
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
 * Milliseconds until the current outage has lasted long enough for its condition; Infinity when it already has, or when there is
 * no outage.
 */
export function outageDueMs({ conditions, outageStartTime }: Partial<ShownHealth>, wallMs: number): number {
  if (outageStartTime === undefined || findCondition(conditions, 'Outage')) return Number.POSITIVE_INFINITY;
  return Date.parse(outageStartTime) + lastingOutageMs - wallMs;
}

/** Event for people that reports a change between two statuses of a resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Events for a status that replaces another status: one Event for each transition, and none when nothing changed (H1). */
export function transitionsTo(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  { ready, reason, message, reconciling, stalled, outage }: Health,
): readonly Transition[] {
  const was = findCondition(before, 'Ready');
  const type = stalled || outage ? 'Warning' : 'Normal';
  // The first status of a resource causes an Event only when work has begun or a problem exists.
  const hasBegun = reconciling && reason !== reasons.progressing;
  const isNew = was ? was.reason !== reason || was.status !== ready : hasBegun || type === 'Warning';
  const lasting = findCondition(after, 'Outage');
  return [
    ...(isNew ? [{ type, reason, message } as const] : []),
    ...(lasting && !findCondition(before, 'Outage')
      ? [{ type: 'Warning', reason: reasons.outage, message: lasting.message } as const]
      : []),
  ];
}
