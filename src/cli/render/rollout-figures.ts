/** Renders a rollout: its stages, what it is waiting for, and the actions that users took. */
import { reasons } from '../../api/conditions.ts';
import type {
  CollectorVersionPolicyStatus,
  PersonAction,
  RecoveryStatus,
  StageAnalysisStatus,
  StageStatus,
} from '../../api/generated/collector-version-policy.ts';
import { counted, groupedText, wordFor } from '../../base/number-text.ts';
import { comparedAfterRollback } from '../../policy/analysis/recovery.ts';
import { apportion } from './bars.ts';
import { conditionOf } from './condition-lines.ts';
import type { Colour, Paint } from './paint.ts';
import { aligned } from './table.ts';
import { clip, widthOf, wrap } from './terminal-text.ts';
import { printable, renderAge, renderAgeSince } from './text.ts';

interface StageLinesOptions {
  /** Maximum number of stages to show. The current stage is always shown. */
  readonly max: number;
  readonly width: number;
  readonly nowMs: number;
  /** Command that approves the stage that is waiting for approval. */
  readonly approve?: string | undefined;
  readonly isRolledBack: boolean;
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
/** Minimum length of a bar in columns. A shorter bar would add nothing to the numbers beside it. */
const shortestBar = 6;
const gap = '  ';

export function renderStages(
  stages: readonly StageStatus[],
  { max, width, nowMs, approve, isRolledBack }: StageLinesOptions,
  paint: Paint,
): readonly string[] {
  const first = firstShown(stages, max);
  const shown = stages.slice(first, first + max);
  const names = aligned(shown.map(({ name }) => clip(printable(name), Math.max(6, Math.floor(width / 4)))));
  const states = aligned(shown.map((stage) => renderStageState(stage, nowMs)));
  const counts = aligned(shown.map((stage) => renderCounts(stage, isRolledBack)));
  const taken = [names, states, counts].reduce((sum, [text = '']) => sum + widthOf(text) + gap.length, 0);
  const columns = Math.min(widestBar, width - taken);
  const lines = shown.flatMap((stage, index) => {
    const { state } = stage;
    const figures = (counts[index] ?? '').trimEnd();
    const cells = [
      names[index] ?? '',
      paint(stageColours[state], states[index] ?? ''),
      ...(columns < shortestBar ? [] : [renderStageBar(stage, columns, paint)]),
      renderFailures(stage) === undefined ? figures : paint('red', figures),
    ];
    const isAwaited = state === 'AwaitingApproval' && approve !== undefined;
    const how = isAwaited ? wrap(`to approve: ${approve}`, width - gap.length) : [];
    const analysis = renderAnalysis(stage).flatMap((text) => wrap(printable(text), width - gap.length));
    const colour = analysisColours[stage.analysis?.state ?? 'Pending'];
    return [
      cells.join(gap),
      ...how.map((line) => gap + paint('yellow', line)),
      ...analysis.map((line) => gap + paint(colour, line)),
    ];
  });
  const after = stages.length - first - shown.length;
  return [
    ...(first === 0 ? [] : [`${counted(first, 'stage')} before that`]),
    ...lines,
    ...(after === 0 ? [] : [`and ${counted(after, 'more stage')}`]),
  ];
}

function firstShown(stages: readonly StageStatus[], max: number): number {
  const current = stages.findIndex(({ state }) => state !== 'Completed');
  const wanted = (current === -1 ? stages.length : current) - Math.min(1, max - 1);
  return Math.max(0, Math.min(wanted, stages.length - max));
}

const analysisColours: Readonly<Record<StageAnalysisStatus['state'], Colour>> = {
  Pending: 'dim',
  Running: 'dim',
  Unavailable: 'yellow',
  Passed: 'green',
  Failed: 'red',
  Inconclusive: 'yellow',
};

/** Maximum number of names in a list of collectors that send too few messages. */
const maxQuiet = 3;

const noReason = 'no reason is known';

/** Renders the message analysis of a stage. Returns no lines if the analysis has not begun. */
export function renderAnalysis({ analysis }: StageStatus): readonly string[] {
  if (!analysis) return [];
  const { state, judged = 0, quiet = 0, unjudged = 0, quietest = [], message = noReason, recovery } = analysis;
  const others = unjudged === 0 ? '' : `, ${unjudged} not compared`;
  switch (state) {
    case 'Pending':
      return [];
    case 'Running':
      return ['message analysis: messages are being counted'];
    case 'Unavailable':
      return [`message analysis: messages could not be counted (${message})`];
    case 'Passed':
      return [`message analysis: ${counted(judged, 'collector')} compared, none sends too few messages${others}`];
    case 'Inconclusive':
      return [
        `message analysis: no collector could be compared, because each sent too few messages before its upgrade or was upgraded too late${others}`,
      ];
    case 'Failed':
      return [
        `message analysis: ${quiet} of ${counted(judged, 'compared collector')} ${wordFor(quiet, 'sends', 'send')} too few messages${others}`,
        ...quietest
          .slice(0, maxQuiet)
          .map(
            ({ name, messages, baseline }) =>
              `${name}: ${groupedText(messages)} messages, ${groupedText(baseline)} before`,
          ),
        ...(quiet > maxQuiet ? [`and ${quiet - maxQuiet} more`] : []),
        ...(recovery ? [renderRecovery(recovery, comparedAfterRollback(quietest))] : []),
      ];
  }
}

/**
 * Renders the message analysis after a rollback.
 * @param compared number of collectors whose messages were counted again after the rollback
 */
function renderRecovery(
  { state, recovered = 0, message = noReason, period }: RecoveryStatus,
  compared: number,
): string {
  switch (state) {
    case 'Pending':
      return `message analysis after the rollback: counting of messages starts at ${period.endTime}`;
    case 'Running':
      return 'message analysis after the rollback: messages are being counted';
    case 'Unavailable':
      return `message analysis after the rollback: messages could not be counted (${message})`;
    case 'Recovered':
    case 'StillQuiet':
      if (compared === 0)
        return 'message analysis after the rollback: no collector could be compared, because all of them were deleted';
      return `message analysis after the rollback: ${recovered} of ${counted(compared, 'collector')} ${wordFor(recovered, 'is', 'are')} sending enough messages again`;
  }
}

/**
 * Renders the state of a stage, and how much time remains in its soak.
 *
 * @param stateText text of the state; by default, its name in the status
 */
export function renderStageState(stage: StageStatus, nowMs: number, stateText: string = stage.state): string {
  const { state, soakedUntil, analysis } = stage;
  if (state !== 'Soaking' || soakedUntil === undefined) return stateText;
  const leftMs = Date.parse(soakedUntil) - nowMs;
  if (leftMs > 0) return `${stateText}, ${renderAge(leftMs)} left`;
  const lastCheck = analysis ? 'message analysis' : 'a last listing';
  return `${stateText}, ${lastCheck}`;
}

/** Reports whether the rollout is being rolled back, or was rolled back. */
export function isRolledBack({ rollout }: Pick<CollectorVersionPolicyStatus, 'rollout'>): boolean {
  return rollout?.stopped?.reason === reasons.rollingBack;
}

/**
 * Renders the numbers of collectors in a stage, such as `7/10, 1 failed, 2 left out`. Collectors that are left out will
 * not be upgraded, for example because they are offline. In a rollout that is rolled back, they are not shown, because
 * the status does not distinguish them from collectors that were rolled back.
 */
export function renderCounts(stage: StageStatus, isRolledBack: boolean): string {
  const { members, updated, inProgress = 0, failed, state } = stage;
  const failures = renderFailures(stage);
  const left = overStates.includes(state) && !isRolledBack ? members - updated - inProgress - failed : 0;
  return [
    `${updated}/${members}`,
    ...(inProgress > 0 ? [`${inProgress} in progress`] : []),
    ...(failures === undefined ? [] : [failures]),
    ...(left > 0 ? [`${left} left out`] : []),
  ].join(', ');
}

/**
 * Renders the failures of a stage, such as `2 failed, 3 send too few messages`. Returns undefined if the stage has no
 * failures.
 */
function renderFailures({ failed, failedAttempts = 0, analysis: { quiet = 0 } = { state: 'Pending' } }: StageStatus) {
  // `failedAttempts` includes collectors that send too few messages, even if their upgrades succeeded.
  const attempts = failedAttempts - quiet;
  const text = counted(attempts, 'attempt');
  const failures =
    attempts <= failed ? `${failed} failed` : failed === 0 ? `${text} failed` : `${failed} failed (${text})`;
  const texts = [
    ...(Math.max(failed, attempts) > 0 ? [failures] : []),
    ...(quiet > 0 ? [`${quiet} ${wordFor(quiet, 'sends', 'send')} too few messages`] : []),
  ];
  return texts.length === 0 ? undefined : texts.join(', ');
}

/** States in which a stage starts no more upgrades. */
const overStates: readonly StageStatus['state'][] = ['Soaking', 'Failed', 'Completed'];

/**
 * Renders a stage's bar, such as `[███▓×░░]`, with exactly `width` columns. Dots stand for collectors that will no
 * longer be upgraded, as in `[███▓×··]`.
 */
export function renderStageBar(
  { members, updated, inProgress = 0, failed, state }: Omit<StageStatus, 'name'>,
  width: number,
  paint: Paint,
): string {
  const columns = Math.max(0, width - 2);
  const left = Math.max(0, members - updated - inProgress - failed);
  const [done = 0, running = 0, lost = 0, rest = 0] = apportion([updated, inProgress, failed, left], columns);
  const mark = overStates.includes(state) ? '·' : '░';
  const parts = [
    paint('green', '█'.repeat(done)),
    paint('cyan', '▓'.repeat(running)),
    paint('red', '×'.repeat(lost)),
    paint('dim', mark.repeat(rest)),
  ];
  return `[${parts.join('')}${' '.repeat(columns - done - running - lost - rest)}]`;
}

/**
 * Returns what the rollout is waiting for, such as `the end of the soak of stage canary, 12m left`. Returns undefined
 * if the rollout is not waiting.
 */
export function renderWait(status: CollectorVersionPolicyStatus | undefined, nowMs: number): string | undefined {
  const waitingFor = status?.rollout?.waitingFor;
  if (!status || waitingFor === undefined) return undefined;
  const untilMs = endOfWait(status, nowMs);
  return untilMs === undefined ? waitingFor : `${waitingFor}, ${renderAge(untilMs - nowMs)} left`;
}

/** Returns the time at which the wait ends: the end of the soak, or the start of the next maintenance window. */
function endOfWait({ conditions, stages, rollout, nextWindow }: CollectorVersionPolicyStatus, nowMs: number) {
  const reason = conditionOf({ conditions }, 'Ready')?.reason;
  const soaked = stages?.find(({ name }) => name === rollout?.stage)?.soakedUntil;
  const time =
    reason === reasons.soaking ? soaked : reason === reasons.waitingForWindow ? nextWindow?.startTime : undefined;
  const untilMs = Date.parse(time ?? '');
  return untilMs > nowMs ? untilMs : undefined;
}

/**
 * Renders the current or next maintenance window, such as `maintenance window open for another 3h, until …`. Returns
 * undefined if the status contains no such window.
 */
export function renderWindow(
  { nextWindow, conditions }: CollectorVersionPolicyStatus,
  nowMs: number,
): string | undefined {
  if (!nextWindow) return undefined;
  const { startTime, endTime, timeZone } = nextWindow;
  const [startMs, endMs] = [Date.parse(startTime), Date.parse(endTime)];
  const where = timeZone === undefined ? '' : ` for collectors in ${timeZone}`;
  if (nowMs < startMs) return `maintenance window opens in ${renderAge(startMs - nowMs)}${where}, ${startTime}`;
  if (nowMs >= endMs) return undefined;
  const isPastCutoff =
    timeZone === undefined && conditionOf({ conditions }, 'Ready')?.reason === reasons.waitingForWindow;
  const late = isPastCutoff ? ', but too short to start an upgrade' : '';
  return `maintenance window open for another ${renderAge(endMs - nowMs)}${where}, until ${endTime}${late}`;
}

const done: Readonly<Record<PersonAction['action'], string>> = {
  Pause: 'paused',
  Resume: 'resumed',
  Approve: 'approved',
  Retry: 'retried',
  Abort: 'aborted',
};

/** Renders the actions that users took on a rollout, one line each. */
export function renderActions(actions: readonly PersonAction[], nowMs: number): readonly string[] {
  const ages = aligned(actions.map(({ time }) => `${renderAgeSince(time, nowMs)} ago`));
  return actions.map((action, index) => printable(`${ages[index]}  ${renderAction(action)}`));
}

export function renderAction({ action, stage, by }: PersonAction): string {
  return `${done[action]}${stage === undefined ? '' : ` stage ${stage}`}${by === undefined ? '' : `, by ${by}`}`;
}
