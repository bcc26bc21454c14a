/** The verdict on how a resource is, and the conditions in the kstatus style that it becomes. */
import { type Condition, removeCondition, setCondition } from '../api/conditions.ts';

export interface Health {
  readonly ready: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  /** One sentence that answers "why is nothing happening?"; another on what to do, where there is something. */
  readonly message: string;
  readonly reconciling: boolean;
  readonly stalled: boolean;
}

/** The conditions with `Ready`, `Reconciling` and `Stalled` as the verdict has them, and all others as they were. */
export function healthConditions(
  before: readonly Condition[] | undefined,
  health: Health,
  observedGeneration: number,
  nowIso: string,
): readonly Condition[] {
  const { ready, reason, message, reconciling, stalled } = health;
  const change = { reason, message, observedGeneration };
  let conditions = setCondition(before, { ...change, type: 'Ready', status: ready }, nowIso);
  for (const [type, on] of [
    ['Reconciling', reconciling],
    ['Stalled', stalled],
  ] as const) {
    conditions = on
      ? setCondition(conditions, { ...change, type, status: 'True' }, nowIso)
      : removeCondition(conditions, type);
  }
  return conditions;
}
