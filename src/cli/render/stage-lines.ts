/**
 * Stages of a rollout for the live view: one line each with state, bar and counts. All bars have the same length, so that the progress of
 * stages can be compared.
 */
import type { StageStatus } from '../../api/generated/collector-version-policy.ts';
import { renderAge } from './age.ts';
import { counted } from './counted.ts';
import { apportion } from './fleet-bar.ts';
import { type Colour, clip, type Paint, printable, widthOf, wrap } from './palette.ts';

interface StageLinesOptions {
  /** Maximum number of stages. The current stage is always shown. */
  readonly most: number;
  /** Maximum number of columns. */
  readonly width: number;
  readonly nowMs: number;
  /** Command that approves the waiting stage. */
  readonly approve?: string | undefined;
}

const stageColours: Readonly<Record<StageStatus['state'], Colour>> = {
  Pending: 'dim',
  AwaitingApproval: 'yellow',
  Progressing: 'cyan',
  Soaking: 'yellow',
  Failed: 'red',
  Completed: 'green',
  Stopped: 'red',
};

const widestBar = 40;
/** Minimum length of a bar. A shorter bar shows nothing more than the counts. */
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

/** Index of the first shown stage: the one before the current stage, if there is space. */
function firstShown(stages: readonly StageStatus[], most: number): number {
  const current = stages.findIndex(({ state }) => state !== 'Completed');
  const wanted = (current === -1 ? stages.length : current) - Math.min(1, most - 1);
  return Math.max(0, Math.min(wanted, stages.length - most));
}

/** State in one word, with the remaining soak. */
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

/** `2 failed`, or the number of failed attempts if it is larger. Undefined without failures. */
function renderFailures({ failed, failedAttempts = 0 }: StageStatus): string | undefined {
  if (failedAttempts <= failed) return failed === 0 ? undefined : `${failed} failed`;
  const attempts = counted(failedAttempts, 'attempt');
  return failed === 0 ? `${attempts} failed` : `${failed} failed (${attempts})`;
}

/** True for stages in which no more upgrade starts: the remaining collectors are offline, hosted or left out for another reason. */
const isOver: Readonly<Record<StageStatus['state'], boolean>> = {
  Pending: false,
  AwaitingApproval: false,
  Progressing: false,
  Soaking: true,
  Failed: true,
  Completed: true,
  Stopped: false,
};

/** `[███×░░]` with exactly `width` columns, or `[███×··]` if the rest is left out. */
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
