import { describe, expect, it, test } from 'vitest';
import type { CollectorVersionPolicyStatus } from '../../../../src/api/generated/collector-version-policy.ts';
import { renderPolicy } from '../../../../src/cli/render/policy-view.ts';
import { renderLine } from '../../../../src/cli/render/resource-view.ts';
import { widthOf } from '../../../../src/cli/render/terminal-text.ts';
import type { Moment, ViewOptions } from '../../../../src/cli/render/view-layout.ts';
import { ago, nowMs, rollingStatus, samplePolicy, stagedStatus } from '../sample-policy.ts';

interface FleetView extends Moment {
  readonly status: CollectorVersionPolicyStatus | undefined;
}

function renderFleet({ status, ...moment }: FleetView, options: ViewOptions): readonly string[] {
  return renderPolicy(samplePolicy({ status }), moment, { height: Number.POSITIVE_INFINITY, ...options });
}

const view = {
  status: rollingStatus,
  nowMs,
  elapsedMs: 65_000,
  updatedPerMinute: 36,
  requestsPerSecond: 3.26,
  events: [
    { atMs: nowMs - 60_000, type: 'Normal', reason: 'RolloutStarted', message: '20 collectors go to 19.500-1' },
    { atMs: nowMs - 1_000, type: 'Warning', reason: 'UpgradeFailed', message: 'web-3: disk\nfull' },
  ],
} satisfies FleetView;

describe('the live view of a policy', () => {
  it('shows the fleet at one moment', () => {
    expect(renderFleet(view, { width: 72, colour: false })).toEqual([
      'logging/production → 19.500-1   RollingOut         180/197 updated   65s',
      `[${'█'.repeat(63)}▓▓░░░×○]`,
      '█ updated 180  ▓ in progress 6  ░ pending 9  × failed 2  ○ offline 3',
      '36 upgrades a minute, 3.3 requests a second, done in about 90s',
      'rollout r-7, started 5m ago',
      'Versions',
      '  19.253-26  ■■■■■ 20',
      `  19.500-1   ${'■'.repeat(49)} 180`,
      'Upgrading',
      '  web-12  19.253-26 → 19.500-1  Progressing, 80s',
      '  and 5 more',
      'Failed',
      '  2 × disk full (web-3, …)',
      'Latest',
      '  11:59:00Z  RolloutStarted  20 collectors go to 19.500-1',
      '  11:59:59Z  UpgradeFailed  web-3: disk full',
    ]);
  });

  it('shows a policy without status', () => {
    expect(renderFleet({ status: undefined, nowMs, elapsedMs: 0 }, { width: 60, colour: false })).toEqual([
      'logging/production → 19.500-1   starting                  0s',
    ]);
  });

  it('fits the width, and looks the same with and without colours', () => {
    for (const width of [20, 40, 79, 200]) {
      const plain = renderFleet(view, { width, colour: false });
      const coloured = renderFleet(view, { width, colour: true });
      expect(plain.filter((line) => widthOf(line) > width)).toEqual([]);
      expect(coloured.join('\n')).toContain('\u001b[');
      expect(coloured.map((line) => line.replaceAll(/\p{Cc}\[\d+m/gu, ''))).toEqual(plain);
    }
  });

  it('shortens long lists', () => {
    const status = {
      ...rollingStatus,
      versions: Array.from({ length: 9 }, (_, index) => ({ version: `19.${index}-1`, count: 10 })),
      tasks: Array.from({ length: 9 }, (_, index) => ({ ...rollingStatus.tasks![0]!, collector: `web-${index}` })),
    };
    const lines = renderFleet({ ...view, status, events: Array(9).fill(view.events[0]) }, { width: 80, colour: false });
    expect(lines).toContain('  30 collectors run 3 other versions');
    expect(lines.filter((line) => line.includes('→ 19.500-1  Progressing'))).toHaveLength(5);
    expect(lines).toContain('  and 4 more');
    expect(lines.filter((line) => line.includes('RolloutStarted'))).toHaveLength(5);
  });

  it('fits the height by shortening lists', () => {
    const status = {
      ...rollingStatus,
      versions: Array.from({ length: 6 }, (_, index) => ({ version: `19.${index}-1`, count: 10 })),
      tasks: Array.from({ length: 9 }, (_, index) => ({ ...rollingStatus.tasks![0]!, collector: `web-${index}` })),
    };
    const long = { ...view, status, events: Array(9).fill(view.events[0]) };
    const heights = [40, 23, 17, 14, 1].map((height) => renderFleet(long, { width: 80, height, colour: false }).length);
    expect(heights).toEqual([27, 23, 15, 12, 7]);
  });

  it('wraps long texts, and an event into at most two lines', () => {
    const rollout = { ...rollingStatus.rollout!, waitingFor: 'the back-off after a failed upgrade to end at noon' };
    const message =
      'Rollout 1-19.500-1 begins: bringing the selected collectors to 19.500-1, at most 72 of them at once.';
    const event = { atMs: nowMs, type: 'Normal', reason: 'RolloutStarted', message } as const;
    const status = { ...rollingStatus, rollout };
    const lines = renderFleet({ ...view, status, events: [event] }, { width: 50, colour: false });
    expect(lines).toEqual(
      expect.arrayContaining(['waiting for the back-off after a failed upgrade to', 'end at noon']),
    );
    expect(lines.slice(-3)).toEqual([
      'Latest',
      '  12:00:00Z  RolloutStarted  Rollout 1-19.500-1',
      '             begins: bringing the selected collec…',
    ]);
  });

  it('shows the reason for waiting only while the rollout is at work', () => {
    const rollout = { ...rollingStatus.rollout!, waitingFor: 'a place' };
    const conditions = rollingStatus.conditions!.filter(({ type }) => type === 'Ready');
    const shown = (status: typeof rollingStatus) =>
      renderFleet({ ...view, status }, { width: 72, colour: false }).includes('waiting for a place');
    expect(shown({ ...rollingStatus, rollout })).toBe(true);
    expect(shown({ ...rollingStatus, rollout, conditions })).toBe(false);
  });

  it('uses singular forms', () => {
    const versions = Array.from({ length: 7 }, (_, index) => ({
      version: `19.${index}-1`,
      count: index === 6 ? 1 : 10,
    }));
    const lines = renderFleet({ ...view, status: { ...rollingStatus, versions } }, { width: 80, colour: false });
    expect(lines).toContain('  1 collector runs 1 other version');
  });

  it('sorts versions, with other texts last', () => {
    const versions = ['19.500-1', 'beta', '19.9-1', '19.40-2'].map((version, index) => ({ version, count: 9 - index }));
    const lines = renderFleet({ ...view, status: { ...rollingStatus, versions } }, { width: 80, colour: false });
    const start = lines.indexOf('Versions') + 1;
    expect(lines.slice(start, start + 4).map((line) => line.trim().split(' ')[0])).toEqual([
      '19.9-1',
      '19.40-2',
      '19.500-1',
      'beta',
    ]);
  });

  it('shows no rate when everything is settled', () => {
    const settled = { ...rollingStatus, conditions: rollingStatus.conditions!.slice(0, 1) };
    const lines = renderFleet({ ...view, status: settled }, { width: 80, colour: false });
    expect(lines.join('\n')).not.toContain('a minute');
  });

  it('shows why a policy waits or stalls', () => {
    const waiting = { ...rollingStatus, rollout: { id: 'r', startTime: ago(1), waitingFor: 'a retry in 5m' } };
    expect(renderFleet({ ...view, status: waiting }, { width: 80, colour: false })).toContain(
      'waiting for a retry in 5m',
    );
    const stalled = {
      ...waiting,
      conditions: [
        {
          type: 'Stalled',
          status: 'True' as const,
          reason: 'VersionNotOffered',
          message: 'No such build.',
          lastTransitionTime: ago(1),
        },
      ],
    };
    expect(renderFleet({ ...view, status: stalled }, { width: 80, colour: false })).toContain('No such build.');
  });
});

it('shows no figures of a former run before the fleet is read', () => {
  const status = { ...rollingStatus, summary: { updated: '180/197', state: 'Progressing' } };
  expect(renderFleet({ ...view, status, events: [] }, { width: 72, colour: false })).toEqual([
    `logging/production → 19.500-1   Progressing${' '.repeat(26)}65s`,
    '36 upgrades a minute, 3.3 requests a second',
  ]);
  expect(renderLine(samplePolicy({ status: status }))?.line).toBe('logging/production: Progressing');
});

describe('a rollout in stages', () => {
  const staged: FleetView = { ...view, status: stagedStatus, updatedPerMinute: 0, events: [] };

  it.each([
    [60, 10],
    [80, 30],
    [120, 38],
  ])('has a line and a bar for each stage in %d columns', (width, columns) => {
    const lines = renderFleet(staged, { width, colour: false });
    const start = lines.indexOf('Stages');
    const bars = lines.slice(start + 1, start + 4).map((line) => /\[(.*)\]/.exec(line)?.[1] ?? '');
    expect(bars.map(({ length }) => length)).toEqual([columns, columns, columns]);
    expect(bars).toEqual(['█'.repeat(columns), `${'█'.repeat(columns - 1)}×`, expect.stringMatching(/^█+░+$/)]);
    expect(lines.slice(start, start + 5).map((line) => line.replace(/\[.*\]/, '[]'))).toEqual([
      'Stages',
      '  canary  Completed          []  2/2',
      '  linux   Soaking, 12m left  []  118/120, 2 failed',
      '  rest    Pending            []  60/78',
      'Versions',
    ]);
    expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
  });

  it('shows the rollout, the window, and the reason for waiting with its end', () => {
    const lines = renderFleet(staged, { width: 80, colour: false });
    expect(lines.slice(3, 7)).toEqual([
      '0 upgrades a minute, 3.3 requests a second',
      'rollout 7-19.500-1, started 121m ago',
      'maintenance window open for another 4h30m, until 2026-11-02T16:30:00Z',
      'waiting for the end of the soak of stage linux, 12m left',
    ]);
    expect(renderFleet(staged, { width: 120, colour: false })).toContain(
      'rollout 7-19.500-1, started 121m ago; maintenance window open for another 4h30m, until 2026-11-02T16:30:00Z',
    );
  });

  it("shows users' latest actions", () => {
    const shown = renderFleet(staged, { width: 80, colour: false });
    expect(shown.slice(shown.indexOf('Actions of people'))).toEqual([
      'Actions of people',
      '  120m ago  paused, by logfleet-cli',
      '  118m ago  resumed, by logfleet-cli',
      '  60m ago   approved stage linux, by kubectl-annotate',
    ]);
    const few = renderFleet(staged, { width: 80, height: 21, colour: false });
    expect(few.slice(few.indexOf('Actions of people') + 1)).toEqual([
      '  60m ago  approved stage linux, by kubectl-annotate',
    ]);
  });

  it('shows how to resume a paused rollout', () => {
    const message = 'Paused by the annotation: no upgrade starts.';
    const paused = { type: 'Ready', status: 'Unknown', reason: 'Paused', message, lastTransitionTime: ago(1) } as const;
    const status = { ...stagedStatus, conditions: [paused] };
    const lines = renderFleet(
      { ...staged, status, steps: { resume: 'logfleet resume cvp/a' } },
      { width: 100, colour: false },
    );
    expect(lines).toContain(`${message} To resume: logfleet resume cvp/a`);
    expect(lines.join('\n')).not.toContain('waiting for');
  });
});

describe('the state line', () => {
  it('names the stage', () => {
    expect(renderLine(samplePolicy({ status: stagedStatus }))?.line).toMatch(
      /; target 19\.500-1, stage linux, updated /,
    );
  });

  it('has the state and the changing counts', () => {
    expect(renderLine(samplePolicy({ status: rollingStatus }))?.line).toBe(
      'logging/production: RollingOut; target 19.500-1, updated 180/197, in progress 6, pending 9, failed 2',
    );
  });
});

test('the state line of a stopped rollout ends with the cause', () => {
  const conditions = (['Ready', 'Stalled'] as const).map((type) => ({
    type,
    status: type === 'Stalled' ? ('True' as const) : ('False' as const),
    reason: 'RolloutStopped',
    message: '1 failure in stage canary, maxFailures is 0. No more upgrades will start.',
    lastTransitionTime: ago(56),
  }));
  const summary = { ...rollingStatus.summary, state: 'RolloutStopped' };
  const line = renderLine(samplePolicy({ status: { ...rollingStatus, summary, conditions } }))?.line;
  expect(line).toMatch(/^logging\/production: RolloutStopped; .*failed 2: 1 failure in stage canary, maxFailures/);
});

describe('all details of a policy', () => {
  const details = (status: CollectorVersionPolicyStatus | undefined, { steps = {}, width = 80 } = {}) =>
    renderPolicy(samplePolicy({ status }), { nowMs, steps }, { width, colour: false });

  it('has conditions, ended upgrades and former rollouts in addition to the live view', () => {
    expect(details(rollingStatus)).toEqual([
      'logging/production → 19.500-1   RollingOut   180/197 updated',
      `[${'█'.repeat(70)}▓▓░░░░×○]`,
      '█ updated 180  ▓ in progress 6  ░ pending 9  × failed 2  ○ offline 3',
      'done in about 90s',
      'rollout r-7, started 5m ago',
      'Versions',
      '  19.253-26  ■■■■■■ 20',
      `  19.500-1   ${'■'.repeat(50)} 180`,
      'Upgrading',
      '  web-12  19.253-26 → 19.500-1  Progressing, 80s',
      '  and 5 more',
      'Failed',
      '  2 × disk full (web-3, …)',
      'Conditions',
      '  Ready=False for 5m: RollingOut',
      '    9 collectors are still to be upgraded.',
      '  Reconciling=True for 5m: RollingOut',
      '    Upgrading.',
      'Ended last',
      '  web-3  19.253-26 → 19.500-1  Failed, 3m20s ago: disk full',
      'Former rollouts',
      '  r-6  Completed 24h ago: 200 updated, 0 failed in 1h',
    ]);
  });

  it("shows users' actions in former rollouts", () => {
    const history = [{ ...rollingStatus.history![0]!, actions: [{ action: 'Abort' as const, time: ago(90_000) }] }];
    const lines = details({ ...stagedStatus, history });
    expect(lines.slice(lines.indexOf('Former rollouts') + 1)).toEqual([
      '  r-6  Completed 24h ago: 200 updated, 0 failed in 1h',
      '    25h ago  aborted',
    ]);
  });

  it('shows the time of a stop, and failed attempts without failed collectors', () => {
    const stopped = { reason: 'RolloutStopped' as const, time: ago(56), message: 'x', stage: 'canary' };
    const stages = [
      { name: 'canary', members: 3, updated: 0, failed: 0, failedAttempts: 3, state: 'Stopped' as const },
    ];
    const lines = details({ ...rollingStatus, rollout: { ...rollingStatus.rollout!, stopped }, stages });
    expect(lines).toContain('rollout r-7, started 5m ago, stopped 56s ago');
    expect(lines.join('\n')).toMatch(/^ {2}canary {2}Stopped .* 0\/3, 3 attempts failed$/m);
  });

  it.each([60, 80, 120])('fits %d columns, and offers the command that approves a stage', (width) => {
    const [canary, linux, ...rest] = stagedStatus.stages!;
    const stages = [canary!, { ...linux!, state: 'AwaitingApproval' as const }, ...rest];
    const approve = 'logfleet approve cvp/production --dir manifests/of/production --stage linux';
    const lines = details({ ...stagedStatus, stages }, { width, steps: { approve } });
    expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
    expect(lines.map((line) => line.trim()).join(' ')).toContain(`to approve: ${approve}`);
  });

  it('shows a policy without status', () => {
    expect(details(undefined)).toEqual([
      'logging/production → 19.500-1   Unknown',
      'No operator has read this resource yet. Check that an operator is running.',
    ]);
  });

  it('shows how to resume a policy that no operator has paused yet', () => {
    const resume = 'logfleet resume cvp/production --dir m';
    expect(details(rollingStatus, { steps: { resume } })).toContain(`To resume: ${resume}`);
  });

  it('lists ten upgrades, and wraps long lines', () => {
    const [open, over] = rollingStatus.tasks!;
    const message = 'The installer ended with exit code 1603, and left its log behind.';
    const tasks = [...Array(12).fill(open!), ...Array(11).fill({ ...over!, message })];
    const collectors = { ...rollingStatus.collectors!, inProgress: 70 };
    const lines = details({ ...rollingStatus, tasks, collectors });
    expect(lines.filter((line) => line.startsWith('  web-12 '))).toHaveLength(10);
    expect(lines).toContain('  and 60 more');
    expect(lines.filter((line) => line.startsWith('  web-3 '))).toHaveLength(10);
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(lines.map((line) => line.trim()).join(' ')).toContain(message);
    const failureReasons = [{ reason: 'Downloading the installer timed out.', count: 9, examples: ['a-1', 'a-2'] }];
    expect(details({ ...rollingStatus, failureReasons }, { width: 50 })).toEqual(
      expect.arrayContaining(['  9 × Downloading the installer timed out. (a-1,', '      a-2, …)']),
    );
  });

  it('reports a status about an older spec', () => {
    const policy = samplePolicy({ metadata: { generation: 4 } });
    expect(renderPolicy(policy, { nowMs }, { width: 200, colour: false }).join('\n')).toContain(
      'no operator has read generation 4 yet',
    );
  });

  it('reports no older spec for a resource that is being deleted', () => {
    const policy = samplePolicy({ metadata: { generation: 4, deletionTimestamp: '2026-11-01T00:00:00Z' } });
    expect(renderPolicy(policy, { nowMs }, { width: 200, colour: false }).join('\n')).not.toContain(
      'no operator has read generation',
    );
  });

  it('removes control characters from all texts', () => {
    const failureReasons = [{ reason: 'disk\u001b[2J\nfull', count: 1, examples: ['a\u001bc'] }];
    const text = details({ ...rollingStatus, failureReasons }).join('');
    expect(text).toContain('1 × disk [2J full (a c)');
    expect(text).not.toMatch(/\p{Cc}/u);
  });
});
