/** Conditions as every kind has them, for people. */
import { renderAgeSince } from './age.ts';
import { printable, wrap } from './palette.ts';

export interface ShownCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** What every status has. */
export interface WithConditions {
  readonly conditions?: readonly ShownCondition[];
}

export function conditionOf(status: WithConditions | undefined, wanted: string): ShownCondition | undefined {
  return status?.conditions?.find(({ type }) => type === wanted);
}

export function holds(status: WithConditions | undefined, wanted: string): boolean {
  return conditionOf(status, wanted)?.status === 'True';
}

/** Whether it is at work, or about to be: nothing has been said of it yet. */
export function isAtWork(status: WithConditions | undefined): boolean {
  return !status?.conditions?.length || holds(status, 'Reconciling');
}

export function renderConditions(
  { conditions = [] }: WithConditions,
  { width, nowMs }: { readonly width: number; readonly nowMs: number },
): readonly string[] {
  return conditions.flatMap((condition) => [
    `${condition.type}=${condition.status} for ${renderAgeSince(condition.lastTransitionTime, nowMs)}: ${printable(condition.reason)}`,
    ...wrap(printable(condition.message), Math.max(20, width - 4)).map((line) => `  ${line}`),
  ]);
}

/** Where the status is about an older spec: which; undefined where it is not. */
export function renderBehind(resource: {
  readonly metadata: { readonly generation: number };
  readonly status?: { readonly observedGeneration?: number };
}): string | undefined {
  const { generation } = resource.metadata;
  const observed = resource.status?.observedGeneration;
  if (observed === undefined || observed >= generation) return undefined;
  return `what follows is about generation ${observed} of the spec; generation ${generation} has not been looked at yet`;
}
