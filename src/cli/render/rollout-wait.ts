/** Reason and remaining time of a rollout that waits. */
import { reasons } from '../../api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';
import { renderAge } from './age.ts';

/** `the end of the soak of stage canary, 12m left`. Undefined if the rollout waits for nothing. */
export function renderWait(status: CollectorVersionPolicyStatus | undefined, nowMs: number): string | undefined {
  const waitingFor = status?.rollout?.waitingFor;
  if (!status || waitingFor === undefined) return undefined;
  const untilMs = endOfWait(status, nowMs);
  return untilMs === undefined ? waitingFor : `${waitingFor}, ${renderAge(untilMs - nowMs)} left`;
}

/** End of the wait. The reason of `Ready` selects the time in status. */
function endOfWait({ conditions, stages, rollout, nextWindow }: CollectorVersionPolicyStatus, nowMs: number) {
  const reason = reasonOf(conditions);
  const soaked = stages?.find(({ name }) => name === rollout?.stage)?.soakedUntil;
  const time =
    reason === reasons.soaking ? soaked : reason === reasons.waitingForWindow ? nextWindow?.startTime : undefined;
  const untilMs = Date.parse(time ?? '');
  return untilMs > nowMs ? untilMs : undefined;
}

function reasonOf(conditions: CollectorVersionPolicyStatus['conditions']): string | undefined {
  return conditions?.find(({ type }) => type === 'Ready')?.reason;
}

/**
 * `open for another 3h, until …` or `opens in 5h, …`, with the time zone of the collectors if windows depend on it. It also tells when the
 * window is open but too short to start an upgrade. Undefined without a window.
 */
export function renderWindow(
  { nextWindow, conditions }: CollectorVersionPolicyStatus,
  nowMs: number,
): string | undefined {
  if (!nextWindow) return undefined;
  const { startTime, endTime, timeZone } = nextWindow;
  const [startMs, endMs] = [Date.parse(startTime), Date.parse(endTime)];
  const where = timeZone === undefined ? '' : ` for collectors in ${timeZone}`;
  if (nowMs < startMs) return `opens in ${renderAge(startMs - nowMs)}${where}, ${startTime}`;
  if (nowMs >= endMs) return undefined;
  const isPastCutoff = timeZone === undefined && reasonOf(conditions) === reasons.waitingForWindow;
  const late = isPastCutoff ? ', but too short to start an upgrade' : '';
  return `open for another ${renderAge(endMs - nowMs)}${where}, until ${endTime}${late}`;
}
