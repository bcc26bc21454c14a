import { describe, expect, it } from 'vitest';
import { renderPolicy } from '../../../../src/cli/render/policy-view.ts';
import { nowMs, rollingStatus, samplePolicy } from '../sample-policy.ts';

const options = { width: 80, colour: false, nowMs };

describe('renderPolicy', () => {
  it('tells all that the status holds', () => {
    expect(renderPolicy(samplePolicy(), options)).toEqual([
      'Name:      logging/production',
      'Target:    19.500-1',
      'State:     RollingOut',
      'Updated:   180/197',
      'Rollout:   r-7, begun 5m ago, done in about 90s',
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
      '  Ready=False RollingOut, for 5m',
      '    9 collectors are still to be upgraded.',
      '  Reconciling=True RollingOut, for 5m',
      '    Upgrading.',
      '',
      'Failed',
      '  2 × disk full: web-3, …',
      '',
      'In flight',
      '  COLLECTOR   FROM        TO         STATE         FOR   TASK',
      '  web-12      19.253-26   19.500-1   Progressing   80s   900',
      '',
      'Ended last',
      '  COLLECTOR   FROM        TO         STATE    ENDED       MESSAGE',
      '  web-3       19.253-26   19.500-1   Failed   3m20s ago   disk full',
      '',
      'Former rollouts',
      '  TARGET      OUTCOME     UPDATED   FAILED   TOOK   ENDED',
      '  19.253-26   Completed   200       0        1h     24h ago',
    ]);
  });

  it('says so when nothing has looked at the policy yet', () => {
    expect(renderPolicy(samplePolicy({ status: undefined }), options)).toEqual([
      'Name:     logging/production',
      'Target:   19.500-1',
      'State:    Unknown: nothing has looked at this policy yet; is an operator',
      '          running?',
      'Age:      125m',
    ]);
  });

  it('says what it waits for, and by what it is paused', () => {
    const status = {
      ...rollingStatus,
      rollout: { id: 'r-7', startTime: rollingStatus.rollout!.startTime, waitingFor: 'collectors to end' },
    };
    const byAnnotation = samplePolicy({ status, metadata: { annotations: { 'logfleet.dev/paused': 'true' } } });
    const lines = renderPolicy(byAnnotation, options);
    expect(lines).toContain('Waiting for:   collectors to end');
    expect(lines).toContain('Paused:        by annotation; `logfleet resume cvp/production` goes on');
    expect(renderPolicy(samplePolicy({ paused: true }), options)).toContain(
      'Paused:    by spec.paused: only its manifest resumes it',
    );
  });

  it('says so when the status is about an older spec', () => {
    expect(
      renderPolicy(samplePolicy({ metadata: { generation: 4 } }), { ...options, width: 200 }).join('\n'),
    ).toContain('generation 4 has not been looked at yet');
  });

  it('lets no text steer the terminal', () => {
    const status = {
      ...rollingStatus,
      failureReasons: [{ reason: 'disk\u001b[2J\nfull', count: 1, examples: ['a\u001bc'] }],
    };
    const text = renderPolicy(samplePolicy({ status }), options).join('');
    expect(text).toContain('1 × disk [2J full: a c');
    expect(text).not.toMatch(/\p{Cc}/u);
  });
});
