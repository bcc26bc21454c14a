import { describe, expect, it } from 'vitest';
import { renderPolicy } from '../../../../src/cli/render/policy-view.ts';
import { ago, nowMs, rollingStatus, samplePolicy, stagedStatus } from '../sample-policy.ts';

const options = { width: 80, colour: false, nowMs };

describe('renderPolicy', () => {
  it('shows the whole status', () => {
    expect(renderPolicy(samplePolicy(), options)).toEqual([
      'Name:      logging/production',
      'Target:    19.500-1',
      'State:     RollingOut',
      'Updated:   180/197; 3 offline of 200 do not count',
      'Rollout:   r-7, started 5m ago, done in about 90s',
      'Age:       125m',
      '',
      'Fleet',
      `  [${'█'.repeat(53)}▓▓░░░×○]`,
      '  200 matched: 180 updated, 6 in progress, 9 pending, 2 failed, 3 offline',
      '',
      'Versions',
      '  VERSION     COLLECTORS',
      '  19.500-1    180          target',
      '  19.253-26   20',
      '',
      'Conditions',
      '  Ready=False for 5m: RollingOut',
      '    9 collectors are still to be upgraded.',
      '  Reconciling=True for 5m: RollingOut',
      '    Upgrading.',
      '',
      'Failed',
      '  2 × disk full (web-3, …)',
      '',
      'In flight',
      '  COLLECTOR   FROM        TO         STATE         FOR   TASK',
      '  web-12      19.253-26   19.500-1   Progressing   80s   900',
      '  and 5 more; -o yaml shows up to 50',
      '',
      'Ended last',
      '  COLLECTOR   FROM        TO         STATE    ENDED       MESSAGE',
      '  web-3       19.253-26   19.500-1   Failed   3m20s ago   disk full',
      '',
      'Former rollouts',
      '  ROLLOUT   OUTCOME     UPDATED   FAILED   TOOK   ENDED',
      '  r-6       Completed   200       0        1h     24h ago',
    ]);
  });

  it('shows stages, windows, the reason for waiting with its end, and actions of people', () => {
    const history = [{ ...rollingStatus.history![0]!, actions: [{ action: 'Abort' as const, time: ago(90_000) }] }];
    const lines = renderPolicy(samplePolicy({ status: { ...stagedStatus, history } }), options);
    expect(lines).toEqual(
      expect.arrayContaining([
        'Waiting for:   the end of the soak of stage linux, 12m left',
        'Rollout:       7-19.500-1, started 121m ago',
        'Window:        open for another 4h30m, until 2026-11-02T16:30:00Z',
      ]),
    );
    expect(lines.slice(lines.indexOf('Stages'), lines.indexOf('Versions'))).toEqual([
      'Stages',
      '  STAGE    STATE               UPDATED   FAILED   STARTED',
      '  canary   Completed           2/2       0        121m ago',
      '  linux    Soaking, 12m left   118/120   2        60m ago',
      '  rest     Pending             60/78     0',
      '',
    ]);
    expect(lines.slice(lines.indexOf('Actions of people'))).toEqual([
      'Actions of people',
      '  120m ago  paused, by logfleet-cli',
      '  118m ago  resumed, by logfleet-cli',
      '  60m ago   approved stage linux, by kubectl-annotate',
      '',
      'Former rollouts',
      '  ROLLOUT   OUTCOME     UPDATED   FAILED   TOOK   ENDED',
      '  r-6       Completed   200       0        1h     24h ago',
      '    25h ago  aborted',
    ]);
  });

  it('shows the time of a stop, and failed attempts without failed collectors', () => {
    const stopped = { reason: 'RolloutStopped' as const, time: ago(56), message: 'x', stage: 'canary' };
    const stages = [
      { name: 'canary', members: 3, updated: 0, failed: 0, failedAttempts: 3, state: 'Stopped' as const },
    ];
    const status = { ...rollingStatus, rollout: { ...rollingStatus.rollout!, stopped }, stages };
    const lines = renderPolicy(samplePolicy({ status }), options);
    expect(lines).toContain('Stopped:   56s ago in stage canary');
    expect(lines).toContain('  canary   Stopped   0/3       0 (3 attempts)');
  });

  it.each([60, 80, 120])('fits %d columns, and offers the command that approves a stage', (width) => {
    const [canary, linux, ...rest] = stagedStatus.stages!;
    const stages = [canary!, { ...linux!, state: 'AwaitingApproval' as const }, ...rest];
    const approve = 'logfleet approve cvp/production --dir manifests/of/production --stage linux';
    const policy = samplePolicy({ status: { ...stagedStatus, stages } });
    const lines = renderPolicy(policy, { ...options, width, steps: { approve } });
    expect(lines.filter((line) => line.length > width)).toEqual([]);
    expect(lines.map((line) => line.trim()).join(' ')).toContain(`to approve: ${approve}`);
  });

  it('shows a policy without status', () => {
    expect(renderPolicy(samplePolicy({ status: undefined }), options)).toEqual([
      'Name:     logging/production',
      'Target:   19.500-1',
      'State:    Unknown: no operator has looked at this policy yet. Check that an',
      '          operator is running.',
      'Age:      125m',
    ]);
  });

  it('shows the reason for waiting', () => {
    const status = { ...rollingStatus, rollout: { ...rollingStatus.rollout!, waitingFor: 'collectors to end' } };
    expect(renderPolicy(samplePolicy({ status }), options)).toContain('Waiting for:   collectors to end');
  });

  it('shows how to resume, and neither the reason for waiting nor the end', () => {
    const conditions = rollingStatus.conditions!.filter(({ type }) => type !== 'Reconciling');
    const rollout = { ...rollingStatus.rollout!, waitingFor: 'collectors to end' };
    const resume = 'logfleet resume cvp/production --dir m';
    const paused = samplePolicy({ status: { ...rollingStatus, conditions, rollout } });
    const lines = renderPolicy(paused, { ...options, width: 100, steps: { resume } });
    expect(lines).toContain(`Paused:    no upgrade starts; to resume: ${resume}`);
    expect(lines).toContain('Rollout:   r-7, started 5m ago');
    expect(lines.join('\n')).not.toContain('Waiting for');
  });

  it('separates examples from the reason', () => {
    const failureReasons = [{ reason: 'Not enough disk space on C:.', count: 1, examples: ['web-3'] }];
    expect(renderPolicy(samplePolicy({ status: { ...rollingStatus, failureReasons } }), options)).toContain(
      '  1 × Not enough disk space on C:. (web-3)',
    );
  });

  it('shows the first rows, within the window', () => {
    const [open, over] = rollingStatus.tasks!;
    const message = 'The installer ended with exit code 1603, and left its log behind.';
    const tasks = [...Array(12).fill(open!), ...Array(11).fill({ ...over!, message })];
    const collectors = { ...rollingStatus.collectors!, inProgress: 70 };
    const lines = renderPolicy(samplePolicy({ status: { ...rollingStatus, tasks, collectors } }), options);
    expect(lines.filter((line) => line.startsWith('  web-12 '))).toHaveLength(10);
    expect(lines).toContain('  and 60 more; -o yaml shows up to 50');
    expect(lines.filter((line) => line.startsWith('  web-3 '))).toHaveLength(10);
    expect(lines).toContain('  and 1 more; -o yaml shows up to 50');
    expect(lines.filter((line) => line.length > options.width)).toEqual([]);
    const whole = renderPolicy(samplePolicy({ status: { ...rollingStatus, tasks } }), { ...options, width: Infinity });
    expect(whole.join('\n')).toContain(message);
  });

  it('breaks long reasons at blanks', () => {
    const failureReasons = [
      { reason: 'Downloading the installer timed out.', count: 9, examples: ['batch-001', 'batch-002', 'batch-003'] },
    ];
    const lines = renderPolicy(samplePolicy({ status: { ...rollingStatus, failureReasons } }), {
      ...options,
      width: 72,
    });
    expect(lines.slice(lines.indexOf('Failed'))).toEqual(
      expect.arrayContaining([
        '  9 × Downloading the installer timed out. (batch-001, batch-002,',
        '      batch-003, …)',
      ]),
    );
  });

  it('reports a status about an older spec', () => {
    expect(
      renderPolicy(samplePolicy({ metadata: { generation: 4 } }), { ...options, width: 200 }).join('\n'),
    ).toContain('no operator has looked at generation 4 yet');
  });

  it('removes control characters from all texts', () => {
    const status = {
      ...rollingStatus,
      failureReasons: [{ reason: 'disk\u001b[2J\nfull', count: 1, examples: ['a\u001bc'] }],
    };
    const text = renderPolicy(samplePolicy({ status }), options).join('');
    expect(text).toContain('1 × disk [2J full (a c)');
    expect(text).not.toMatch(/\p{Cc}/u);
  });
});
