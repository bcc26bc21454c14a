/** Renders the conditions of a resource. */
import { type Condition, type ConditionType, findCondition } from '../../api/conditions.ts';
import type { AnyResource } from '../../api/kinds.ts';
import { printable, renderAgeSince } from './text.ts';

export interface WithConditions {
  readonly conditions?: readonly Condition[] | undefined;
}

export function conditionOf(status: WithConditions | undefined, wanted: ConditionType): Condition | undefined {
  return findCondition(status?.conditions, wanted);
}

export function holds(status: WithConditions | undefined, wanted: ConditionType): boolean {
  return conditionOf(status, wanted)?.status === 'True';
}

/** Returns true if logfleet is working on the resource, or if it has no conditions yet. */
export function isAtWork(status: WithConditions | undefined): boolean {
  return !status?.conditions?.length || holds(status, 'Reconciling');
}

/**
 * Meaning of a state for a user: `stalled` (a user must act), `waiting` (paused, or needs an approval), `working`, or
 * `ready` (nothing is left to do).
 */
export type Tone = 'stalled' | 'waiting' | 'working' | 'ready';

export function toneOf({ status }: AnyResource): Tone {
  if (holds(status, 'Stalled')) return 'stalled';
  if (holds(status, 'Ready')) return 'ready';
  return isAtWork(status) && status?.summary?.state !== 'AwaitingApproval' ? 'working' : 'waiting';
}

/** Renders the conditions of a resource. If several conditions have the same message, it is shown only once. */
export function renderConditions({ conditions = [] }: WithConditions, nowMs: number): readonly string[] {
  const shown = new Set(['']);
  return conditions.flatMap(({ type, status, reason, message, lastTransitionTime }) => {
    const line = `${type}=${status} for ${renderAgeSince(lastTransitionTime, nowMs)}: ${printable(reason)}`;
    const lines = shown.has(message) ? [line] : [line, `  ${printable(message)}`];
    shown.add(message);
    return lines;
  });
}

/**
 * Returns a warning if the status describes an earlier generation of the spec. Returns undefined for a resource that is
 * being deleted, because the deletion itself raises the generation.
 */
export function renderBehind(resource: {
  readonly metadata: { readonly generation: number; readonly deletionTimestamp?: string };
  readonly status?: { readonly observedGeneration?: number };
}): string | undefined {
  const { generation, deletionTimestamp } = resource.metadata;
  const observed = resource.status?.observedGeneration;
  if (deletionTimestamp !== undefined || observed === undefined || observed >= generation) return undefined;
  return `this status describes generation ${observed} of the spec; no operator has read generation ${generation} yet`;
}
