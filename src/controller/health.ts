/** Health verdict of a resource, and its conversion to conditions in the kstatus style. */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../api/conditions.ts';

/** Reasons that are found in the spec and the Secrets before the service is asked. They are the same for each kind of process. */
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
  /** One sentence that says why nothing happens, and one that says what to do when a person can act. */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
  /** Whether a dependency fails and is retried: the service, the destination, or their limits (H2). */
  readonly outage?: boolean;
}

/** Fields of status for the verdict, the same for all kinds. */
export interface ShownHealth {
  readonly conditions: readonly Condition[];
  /** Start of the present outage; absent when there is none. */
  readonly outageStartTime?: string;
}

/** Duration in ms from which an outage gets its own condition for alerts (H2). */
export const lastingOutageMs = 600_000;

/**
 * Conditions with `Ready`, `Reconciling`, `Stalled` and `Outage` set by the verdict, and all others unchanged. An outage that
 * continues with another reason keeps its start. An unparseable start or a start in the future is ignored.
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

/** Remaining ms until the present outage is a lasting one; Infinity when it already is, or when there is none. */
export function outageDueMs({ conditions, outageStartTime }: Partial<ShownHealth>, wallMs: number): number {
  if (outageStartTime === undefined || findCondition(conditions, 'Outage')) return Number.POSITIVE_INFINITY;
  return Date.parse(outageStartTime) + lastingOutageMs - wallMs;
}

/** Event for people about a change between two statuses of a resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Events for a status that replaces another: one for each transition, none without a transition (H1). */
export function transitionsTo(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  { ready, reason, message, reconciling, stalled, outage }: Health,
): readonly Transition[] {
  const was = findCondition(before, 'Ready');
  const type = stalled || outage ? 'Warning' : 'Normal';
  // The first status causes an Event when work has begun or a problem exists, and none when there is nothing to do.
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
