/** Actions of people in a rollout as text: `60m ago  approved stage linux, by kubectl-annotate`. */
import type { PersonAction } from '../../api/generated/collector-version-policy.ts';
import { renderAgeSince } from './age.ts';
import { printable } from './palette.ts';

const done: Readonly<Record<PersonAction['action'], string>> = {
  Pause: 'paused',
  Resume: 'resumed',
  Approve: 'approved',
  Retry: 'retried',
  Abort: 'aborted',
};

/** One line for each action, in their order. */
export function renderActions(actions: readonly PersonAction[], nowMs: number): readonly string[] {
  const ages = actions.map(({ time }) => `${renderAgeSince(time, nowMs)} ago`);
  const width = Math.max(0, ...ages.map(({ length }) => length));
  return actions.map((action, index) => printable(`${ages[index]?.padEnd(width)}  ${renderAction(action)}`));
}

function renderAction({ action, stage, by }: PersonAction): string {
  return `${done[action]}${stage === undefined ? '' : ` stage ${stage}`}${by === undefined ? '' : `, by ${by}`}`;
}
