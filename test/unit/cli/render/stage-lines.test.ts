import { describe, expect, it } from 'vitest';
import type { StageAnalysisStatus, StageStatus } from '../../../../src/api/generated/collector-version-policy.ts';
import { paintWith } from '../../../../src/cli/render/paint.ts';
import {
  renderCounts,
  renderStageBar,
  renderStageState,
  renderStages,
} from '../../../../src/cli/render/rollout-figures.ts';
import { widthOf } from '../../../../src/cli/render/terminal-text.ts';
import { ago, nowMs } from '../sample-policy.ts';

const plain = paintWith(false);

function stage(name: string, state: StageStatus['state'], more: Partial<StageStatus> = {}): StageStatus {
  return { name, state, members: 10, updated: 0, failed: 0, ...more };
}

function shown(stages: readonly StageStatus[], more: Partial<Parameters<typeof renderStages>[1]> = {}) {
  return renderStages(stages, { max: 10, width: 78, nowMs, isRolledBack: false, ...more }, plain);
}

describe('renderStages', () => {
  it('colours each state', () => {
    const states = ['Pending', 'AwaitingApproval', 'Progressing', 'Soaking', 'Completed', 'Stopped'] as const;
    const lines = renderStages(
      states.map((state) => stage('a', state)),
      { max: 10, width: 78, nowMs, isRolledBack: false },
      (colour, text) => `<${colour}>${text.trim()}</>`,
    );
    const colours = lines.map((line) => /<(\w+)>[A-Z]/.exec(line)?.[1]);
    expect(colours).toEqual(['dim', 'yellow', 'cyan', 'yellow', 'green', 'red']);
  });

  it('counts down a soak, and shows when only the last listing is missing', () => {
    expect(shown([stage('a', 'Soaking', { soakedUntil: ago(-90) })])[0]).toContain('Soaking, 90s left');
    expect(shown([stage('a', 'Soaking', { soakedUntil: ago(0) })])[0]).toContain('Soaking, a last listing');
    expect(shown([stage('a', 'Soaking')])[0]).toMatch(/^a {2}Soaking {2}\[/);
    expect(shown([stage('a', 'Completed', { soakedUntil: ago(-90) })])[0]).not.toContain('90s');
  });

  it('uses the given text for a state', () => {
    expect(renderStageState(stage('a', 'AwaitingApproval'), nowMs)).toBe('AwaitingApproval');
    expect(renderStageState(stage('a', 'AwaitingApproval'), nowMs, 'Awaiting approval')).toBe('Awaiting approval');
    const soaking = stage('a', 'Soaking', { soakedUntil: ago(-90) });
    expect(renderStageState(soaking, nowMs, 'In soak')).toBe('In soak, 90s left');
  });

  it('shows the message analysis below its stage', () => {
    const quietest = ['a', 'b', 'c', 'd'].map((name) => ({
      id: name,
      name: `web-${name}`,
      messages: 12,
      baseline: 4310,
    }));
    const lines = (analysis: StageAnalysisStatus) =>
      shown([stage('canary', 'Stopped', { analysis }), stage('rest', 'Pending')], { width: 120 }).slice(1, -1);
    expect(lines({ state: 'Pending' })).toEqual([]);
    expect(lines({ state: 'Running' })).toEqual(['  message analysis: messages are being counted']);
    expect(lines({ state: 'Unavailable', message: 'the service does not answer' })).toEqual([
      '  message analysis: messages could not be counted (the service does not answer)',
    ]);
    expect(lines({ state: 'Passed', judged: 1, quiet: 0, unjudged: 3 })).toEqual([
      '  message analysis: 1 collector compared, none sends too few messages, 3 not compared',
    ]);
    expect(lines({ state: 'Inconclusive', judged: 0, quiet: 0, unjudged: 4 })).toEqual([
      '  message analysis: no collector could be compared, because each sent too few messages before its upgrade or was',
      '  upgraded too late, 4 not compared',
    ]);
    expect(lines({ state: 'Failed', judged: 20, quiet: 4, unjudged: 0, quietest })).toEqual([
      '  message analysis: 4 of 20 compared collectors send too few messages',
      '  web-a: 12 messages, 4,310 before',
      '  web-b: 12 messages, 4,310 before',
      '  web-c: 12 messages, 4,310 before',
      '  and 1 more',
    ]);
    const period = { startTime: ago(0), endTime: ago(0) };
    const lastLine = (recovery: NonNullable<StageAnalysisStatus['recovery']>) =>
      lines({ state: 'Failed', judged: 20, quiet: 4, unjudged: 0, quietest: after, recovery }).at(-1);
    const after = quietest.map((one) => ({ ...one, messagesAfterRollback: 4_000 }));
    expect(lastLine({ state: 'Pending', period })).toBe(
      `  message analysis after the rollback: counting of messages starts at ${period.endTime}`,
    );
    expect(lastLine({ state: 'Running', period })).toBe(
      '  message analysis after the rollback: messages are being counted',
    );
    expect(lastLine({ state: 'Unavailable', message: 'no response', period })).toBe(
      '  message analysis after the rollback: messages could not be counted (no response)',
    );
    expect(lastLine({ state: 'Recovered', recovered: 4, period })).toBe(
      '  message analysis after the rollback: 4 of 4 collectors are sending enough messages again',
    );
    expect(lastLine({ state: 'StillQuiet', recovered: 1, period })).toBe(
      '  message analysis after the rollback: 1 of 4 collectors is sending enough messages again',
    );
    expect(shown([stage('canary', 'Soaking', { soakedUntil: ago(0), analysis: { state: 'Running' } })])[0]).toContain(
      'Soaking, message analysis',
    );
  });

  it('shows the command that approves below the waiting stage', () => {
    const stages = [stage('a', 'AwaitingApproval'), stage('b', 'Pending')];
    const lines = shown(stages, { approve: 'logfleet approve cvp/production --stage a', width: 40 });
    expect(lines.slice(1, -1)).toEqual(['  to approve: logfleet approve', '  cvp/production --stage a']);
    expect(shown(stages)).toHaveLength(2);
  });

  it('shows the current stage and its neighbours if space is limited', () => {
    const stages = ['a', 'b', 'c', 'd', 'e', 'f'].map((name, index) => {
      return stage(name, index < 3 ? 'Completed' : index === 3 ? 'Progressing' : 'Pending');
    });
    const firstWords = (max: number) => shown(stages, { max }).map((line) => line.split('  ')[0]);
    expect(firstWords(6)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(firstWords(3)).toEqual(['2 stages before that', 'c', 'd', 'e', 'and 1 more stage']);
    expect(firstWords(1)).toEqual(['3 stages before that', 'd', 'and 2 more stages']);
    const over = stages.map((one) => ({ ...one, state: 'Completed' as const }));
    expect(shown(over, { max: 2 })[0]).toBe('4 stages before that');
  });

  it.each([
    [{ failed: 0, failedAttempts: 3 }, '0/10, 3 attempts failed'],
    [{ failed: 1, failedAttempts: 3 }, '0/10, 1 failed (3 attempts)'],
    [{ failed: 2, failedAttempts: 2 }, '0/10, 2 failed'],
    [{ failedAttempts: 3, analysis: { state: 'Failed' as const, quiet: 3 } }, '0/10, 3 send too few messages'],
    [
      { failed: 1, failedAttempts: 4, analysis: { state: 'Failed' as const, quiet: 3 } },
      '0/10, 1 failed, 3 send too few messages',
    ],
  ])('of %j shows failed attempts if they outnumber failed collectors', (more, counts) => {
    expect(shown([stage('a', 'Stopped', more)])[0]).toMatch(new RegExp(`  ${counts.replace(/[()]/g, '\\$&')}$`));
  });

  it.each([
    ['Soaking', { updated: 7, failed: 1 }, '7/10, 1 failed, 2 left out'],
    ['Completed', { updated: 7 }, '7/10, 3 left out'],
    ['Completed', { updated: 9, failed: 1 }, '9/10, 1 failed'],
    // While a stage is still upgrading collectors, its line does not mention offline or skipped collectors.
    ['Progressing', { updated: 7 }, '7/10'],
    ['Completed', { updated: 11 }, '11/10'],
  ] as const)('shows offline or skipped collectors: %s %j', (state, more, counts) => {
    expect(
      shown([stage('a', state, more)])[0]
        ?.split('  ')
        .at(-1),
    ).toBe(counts);
  });

  it('does not say that collectors are left out if they may have been rolled back', () => {
    const stages = [stage('canary', 'Completed', { failed: 1 }), stage('rest', 'Stopped')];
    const counts = shown(stages, { isRolledBack: true }).map((line) => line.split('  ').at(-1));
    expect(counts).toEqual(['0/10, 1 failed', '0/10']);
  });

  it('leaves out bars if space is limited, and cuts long names', () => {
    const stages = [stage('a-stage-with-a-long-name', 'Progressing', { updated: 3, failed: 1 })];
    expect(shown(stages, { width: 40 })).toEqual(['a-stage-w…  Progressing  3/10, 1 failed']);
    for (const width of [60, 80, 120])
      expect(shown(stages, { width }).filter((line) => widthOf(line) > width)).toEqual([]);
  });
});

describe('renderCounts', () => {
  it.each([
    ['Progressing', '5/10, 3 in progress, 1 failed'],
    ['Soaking', '5/10, 3 in progress, 1 failed, 1 left out'],
  ] as const)('of a stage in the state %s is %s', (state, text) => {
    expect(renderCounts(stage('a', state, { updated: 5, inProgress: 3, failed: 1 }), false)).toBe(text);
  });
});

describe('renderStageBar', () => {
  it.each([
    [{ members: 10, updated: 5, failed: 2 }, '[█████××░░░]'],
    [{ members: 10, updated: 5, inProgress: 1, failed: 2 }, '[█████▓××░░]'],
    [{ members: 1000, updated: 999, failed: 1 }, '[█████████×]'],
    [{ members: 0, updated: 0, failed: 0 }, '[          ]'],
    [{ members: 1, updated: 2, failed: 0 }, '[██████████]'],
  ])('of %j is %s', (counts, bar) => {
    expect(renderStageBar({ ...counts, state: 'Progressing' }, 12, plain)).toBe(bar);
  });

  it('shows no pending collectors in a stage that is over', () => {
    const counts = { members: 10, updated: 5, failed: 2 };
    expect(renderStageBar({ ...counts, state: 'Soaking' }, 12, plain)).toBe('[█████××···]');
    expect(renderStageBar({ ...counts, state: 'Completed' }, 12, plain)).toBe('[█████××···]');
    expect(renderStageBar({ ...counts, state: 'Stopped' }, 12, plain)).toBe('[█████××░░░]');
  });
});
