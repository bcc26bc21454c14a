import { describe, expect, it } from 'vitest';
import { renderWait, renderWindow } from '../../../../src/cli/render/rollout-figures.ts';
import { ago, nowMs, stagedStatus } from '../sample-policy.ts';

const [ready] = stagedStatus.conditions!;
const withReason = (reason: string) => ({ ...stagedStatus, conditions: [{ ...ready!, reason }] });
const later = { startTime: ago(-18_000), endTime: ago(-36_000) };

describe('renderWait', () => {
  it('counts down to the end of the current soak', () => {
    expect(renderWait(stagedStatus, nowMs)).toBe('the end of the soak of stage linux, 12m left');
    expect(renderWait(stagedStatus, nowMs + 750_000)).toBe('the end of the soak of stage linux');
  });

  it('counts down to the next window', () => {
    const status = { ...withReason('WaitingForWindow'), nextWindow: later };
    expect(renderWait(status, nowMs)).toMatch(/, 5h left$/);
    expect(renderWait(withReason('WaitingForWindow'), nowMs)).not.toMatch(/left/);
  });

  it('counts down only to the end of the current wait', () => {
    expect(renderWait(withReason('RollingOut'), nowMs)).toBe('the end of the soak of stage linux');
    expect(renderWait(undefined, nowMs)).toBeUndefined();
    const { waitingFor: _, ...rollout } = stagedStatus.rollout!;
    expect(renderWait({ ...stagedStatus, rollout }, nowMs)).toBeUndefined();
  });
});

describe('renderWindow', () => {
  it.each([
    [later, `maintenance window opens in 5h, ${later.startTime}`],
    [{ startTime: ago(60), endTime: ago(-60) }, `maintenance window open for another 60s, until ${ago(-60)}`],
    [{ startTime: ago(120), endTime: ago(60) }, undefined],
  ])('of %j is %s', (nextWindow, text) => {
    expect(renderWindow({ nextWindow }, nowMs)).toBe(text);
  });

  it('names the time zone of the window', () => {
    const inZone = (nextWindow: typeof later) =>
      renderWindow({ nextWindow: { ...nextWindow, timeZone: 'Asia/Tokyo' } }, nowMs);
    expect(inZone(later)).toBe(`maintenance window opens in 5h for collectors in Asia/Tokyo, ${later.startTime}`);
    const status = {
      ...withReason('WaitingForWindow'),
      nextWindow: { startTime: ago(60), endTime: ago(-9_120), timeZone: 'Asia/Tokyo' },
    };
    expect(renderWindow(status, nowMs)).toBe(
      `maintenance window open for another 152m for collectors in Asia/Tokyo, until ${ago(-9_120)}`,
    );
  });

  it('shows when the window is past its cutoff', () => {
    const status = { ...withReason('WaitingForWindow'), nextWindow: { startTime: ago(60), endTime: ago(-60) } };
    expect(renderWindow(status, nowMs)).toBe(
      `maintenance window open for another 60s, until ${ago(-60)}, but too short to start an upgrade`,
    );
  });

  it('is undefined without a window', () => {
    expect(renderWindow({}, nowMs)).toBeUndefined();
  });
});
