/**
 * The stages of a rollout while it moves: a line for each, with its state, a bar of its collectors and their counts. All bars have the
 * same length, whatever the stages' sizes: how far each has come is the question.
 */
import type { StageStatus } from '../../api/generated/collector-version-policy.ts';
import { renderAge } from './age.ts';
import { counted } from './counted.ts';
import { apportion } from './fleet-bar.ts';
import { type Colour, clip, type Paint, printable, widthOf, wrap } from './palette.ts';

export interface StageLinesOptions {
  /** Stages that there is room for; the one under way is always among them. */
  readonly most: number;
  /** Columns of the longest line. */
  readonly width: number;
  readonly nowMs: number;
  /** The command that approves the stage that waits for it. */
  readonly approve?: string | undefined;
}

export const stageColours: Readonly<Record<StageStatus['state'], Colour>> = {
  Pending: 'dim',
  AwaitingApproval: 'yellow',
  Progressing: 'cyan',
  Soaking: 'yellow',
  Failed: 'red',
  Completed: 'green',
  Stopped: 'red',
};

const widestBar = 40;
/** A shorter one says nothing that the counts do not. */
const shortestBar = 6;
const gap = '  ';

export function renderStages(
  stages: readonly StageStatus[],
  { most, width, nowMs, approve }: StageLinesOptions,
  paint: Paint,
): readonly string[] {
  const first = firstShown(stages, most);
  const shown = stages.slice(first, first + most);
  const names = aligned(shown.map(({ name }) => clip(printable(name), Math.max(6, Math.floor(width / 4)))));
  const states = aligned(shown.map((stage) => renderStageState(stage, nowMs)));
  const counts = aligned(shown.map(renderCounts));
  const taken = [names, states, counts].reduce((sum, [text = '']) => sum + widthOf(text) + gap.length, 0);
  const room = Math.min(widestBar, width - taken);
  const lines = shown.flatMap((stage, index) => {
    const { state } = stage;
    const told = (counts[index] ?? '').trimEnd();
    const cells = [
      names[index] ?? '',
      paint(stageColours[state], states[index] ?? ''),
      ...(room < shortestBar ? [] : [renderStageBar(stage, room, paint)]),
      renderFailures(stage) === undefined ? told : paint('red', told),
    ];
    const isAwaited = state === 'AwaitingApproval' && approve !== undefined;
    const how = isAwaited ? wrap(`to approve: ${approve}`, width - gap.length) : [];
    return [cells.join(gap), ...how.map((line) => gap + paint('yellow', line))];
  });
  const after = stages.length - first - shown.length;
  return [
    ...(first === 0 ? [] : [`${counted(first, 'stage')} before that`]),
    ...lines,
    ...(after === 0 ? [] : [`and ${counted(after, 'more stage')}`]),
  ];
}

/** With the one before the one under way, where there is room for it. */
function firstShown(stages: readonly StageStatus[], most: number): number {
  const current = stages.findIndex(({ state }) => state !== 'Completed');
  const wanted = (current === -1 ? stages.length : current) - Math.min(1, most - 1);
  return Math.max(0, Math.min(wanted, stages.length - most));
}

/** In one word, and how long it still soaks. */
export function renderStageState({ state, soakedUntil }: StageStatus, nowMs: number): string {
  if (state !== 'Soaking' || soakedUntil === undefined) return state;
  const leftMs = Date.parse(soakedUntil) - nowMs;
  return leftMs > 0 ? `${state}, ${renderAge(leftMs)} left` : `${state}, a last look`;
}

function renderCounts(stage: StageStatus): string {
  const { members, updated, failed, state } = stage;
  const failures = renderFailures(stage);
  const left = isOver[state] ? members - updated - failed : 0;
  return `${updated}/${members}${failures === undefined ? '' : `, ${failures}`}${left > 0 ? `, ${left} left out` : ''}`;
}

/** `2 failed`, or how many attempts did where more of them failed than collectors are given up; undefined where none did. */
function renderFailures({ failed, failedAttempts = 0 }: StageStatus): string | undefined {
  if (failedAttempts <= failed) return failed === 0 ? undefined : `${failed} failed`;
  const attempts = counted(failedAttempts, 'attempt');
  return failed === 0 ? `${attempts} failed` : `${failed} failed (${attempts})`;
}

/** Where all are done who can be: the rest is offline, hosted or left out for another reason, and nothing is to come. */
const isOver: Readonly<Record<StageStatus['state'], boolean>> = {
  Pending: false,
  AwaitingApproval: false,
  Progressing: false,
  Soaking: true,
  Failed: true,
  Completed: true,
  Stopped: false,
};

/** `[███×░░]`, in as many columns as are given; `[███×··]` where the rest is left out. */
export function renderStageBar(
  { members, updated, failed, state }: Pick<StageStatus, 'members' | 'updated' | 'failed' | 'state'>,
  width: number,
  paint: Paint,
): string {
  const room = Math.max(0, width - 2);
  const [done = 0, lost = 0, rest = 0] = apportion([updated, failed, Math.max(0, members - updated - failed)], room);
  const mark = isOver[state] ? '·' : '░';
  const inside = paint('green', '█'.repeat(done)) + paint('red', '×'.repeat(lost)) + paint('dim', mark.repeat(rest));
  return `[${inside}${' '.repeat(room - done - lost - rest)}]`;
}

function aligned(texts: readonly string[]): readonly string[] {
  const width = Math.max(0, ...texts.map(widthOf));
  return texts.map((text) => text + ' '.repeat(width - widthOf(text)));
}
