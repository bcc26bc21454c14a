/** The verdict on how a resource is, and the conditions in the kstatus style that it becomes. */
import { type Condition, findCondition, reasons, removeCondition, setCondition } from '../api/conditions.ts';

/** Reasons that a process of either kind finds in the spec and the Secrets, before it asks the service. */
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
  /** One sentence that answers "why is nothing happening?"; another on what to do, where there is something. */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
  /** Whether something that logfleet depends on does not work, and is tried again: service, destination, their limits (H2). */
  readonly outage?: boolean;
}

/** What a status shows of a verdict, whatever the kind. */
export interface ShownHealth {
  readonly conditions: readonly Condition[];
  /** When the outage began that lasts; absent while there is none. */
  readonly outageStartTime?: string;
}

/** After so long an outage is a condition of its own, for alerts (H2). */
export const lastingOutageMs = 600_000;

/**
 * The conditions with `Ready`, `Reconciling`, `Stalled` and `Outage` as the verdict has them, and all others as they were. An outage that
 * goes on under another reason began when the first one did. A start that is no time, or that lies in the future, does not count.
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

/** How long until the outage that a status shows is a lasting one; infinite where it is, or there is none. */
export function outageDueMs({ conditions, outageStartTime }: Partial<ShownHealth>, wallMs: number): number {
  if (outageStartTime === undefined || findCondition(conditions, 'Outage')) return Number.POSITIVE_INFINITY;
  return Date.parse(outageStartTime) + lastingOutageMs - wallMs;
}

/** An Event for people: what changed between two statuses of a resource. */
export interface Transition {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What people are told of when a status replaces another: each transition once, and nothing without one (H1). */
export function transitionsTo(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  { ready, reason, message, stalled, outage }: Health,
): readonly Transition[] {
  const was = findCondition(before, 'Ready');
  const type = stalled || outage ? 'Warning' : 'Normal';
  // A resource that begins has no state to leave yet: its first event tells of the state that it reaches.
  const isBeginning = was === undefined && reason === reasons.progressing;
  const isNew = !isBeginning && (was?.reason !== reason || was.status !== ready);
  const lasting = findCondition(after, 'Outage');
  return [
    ...(isNew ? [{ type, reason, message } as const] : []),
    ...(lasting && !findCondition(before, 'Outage')
      ? [{ type: 'Warning', reason: reasons.outage, message: lasting.message } as const]
      : []),
  ];
}
