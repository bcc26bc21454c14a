import { describe, expect, it } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { LiveView } from '../../../src/cli/live/live-view.ts';
import { recordingOutput, shownOn, type Terminal } from '../../support/recording-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { exportingStatus, sampleExport } from './sample-export.ts';
import { nowMs, rollingStatus, samplePolicy } from './sample-policy.ts';

function withUpdated(updated: number): CollectorVersionPolicy {
  const collectors = { ...rollingStatus.collectors!, updated };
  return samplePolicy({
    status: { ...rollingStatus, collectors, summary: { state: 'RollingOut', updated: `${updated}/197` } },
  });
}

function start(terminal?: Terminal) {
  const output = recordingOutput(terminal);
  const clock = new VirtualClock(nowMs);
  return { output, clock, view: new LiveView({ output, clock }), shown: () => shownOn(output.text) };
}

describe('LiveView in a pipe', () => {
  it('writes a line when a state or a count changes, without escape sequences', async () => {
    const { output, clock, view } = start();
    view.show(withUpdated(180));
    view.show(withUpdated(180));
    await clock.advance(60_000);
    view.print('a line of the log');
    view.show(withUpdated(181));
    view.end();
    expect(output.text).toBe(
      [
        'logging/production: RollingOut; target 19.500-1, updated 180/197, in progress 6, pending 9, failed 2',
        'a line of the log',
        'logging/production: RollingOut; target 19.500-1, updated 181/197, in progress 6, pending 9, failed 2',
        '',
      ].join('\n'),
    );
    expect(clock.next()).toBeUndefined();
  });
});

it('writes a line in a pipe when the state or the progress of an export changes', () => {
  const { output, view } = start();
  const progress = { ...exportingStatus.progress!, rowsWritten: 1_300_000 };
  view.show(sampleExport());
  view.show(sampleExport({ status: { ...exportingStatus, progress } }));
  view.show(
    sampleExport({ status: { ...exportingStatus, progress, summary: { state: 'Exporting', progress: '43%' } } }),
  );
  view.end();
  expect(output.text.split('\n').map((line) => line.slice(0, 61))).toEqual([
    'logging/errors: Exporting; 42% of the export; 1,234,567 rows,',
    'logging/errors: Exporting; 43% of the export; 1,300,000 rows,',
    '',
  ]);
});

describe('LiveView in a pipe that has been quiet', () => {
  const stalled = [
    { type: 'Ready', status: 'False', reason: 'VolumeNotFound', message: 'Start it with --volume.' },
    { type: 'Stalled', status: 'True', reason: 'VolumeNotFound', message: 'Start it with --volume.' },
  ].map((each) => ({ ...each, lastTransitionTime: '' })) as NonNullable<typeof exportingStatus.conditions>;

  it('reports once why an export makes no progress', async () => {
    const { output, clock, view } = start();
    view.show(sampleExport({ status: { conditions: stalled, summary: { state: 'VolumeNotFound' } } }));
    await clock.advance(9_000);
    expect(output.text).toBe('logging/errors: VolumeNotFound\n');
    await clock.advance(3_600_000);
    expect(output.text).toBe('logging/errors: VolumeNotFound\nlogging/errors: Start it with --volume.\n');
    view.end();
    expect(clock.next()).toBeUndefined();
  });

  it('reports the state of an export at growing intervals, only when it has changed', async () => {
    const { output, clock, view } = start();
    const found = (messageCount: number) => {
      const jobs = exportingStatus.jobs?.map((job) => ({ ...job, messageCount }));
      view.show(sampleExport({ status: { ...exportingStatus, ...(jobs && { jobs }) } }));
    };
    const texts: string[] = [];
    for (let second = 0; second < 300; second += 5) {
      found(second < 100 ? second : 100);
      await clock.advance(5_000);
      texts.push(output.text);
    }
    expect(texts[0]).toMatch(/^logging\/errors: Exporting; 42%.*\n$/);
    expect(output.text.split('\n').slice(1)).toEqual([
      'logging/errors: 42% of the export, 2 searches run. The running searches have found 10 messages so far.',
      'logging/errors: 42% of the export, 2 searches run. The running searches have found 50 messages so far.',
      'logging/errors: 42% of the export, 2 searches run. The running searches have found 130 messages so far.',
      'logging/errors: 42% of the export, 2 searches run. The running searches have found 200 messages so far.',
      '',
    ]);
    view.gone({ kind: 'SearchExport', namespace: 'logging', name: 'errors' });
    expect(clock.next()).toBeUndefined();
  });
});

describe('LiveView of a policy', () => {
  const withReady = (message: string, isAtWork: boolean, reason = 'RollingOut') => {
    const [ready, reconciling] = rollingStatus.conditions!;
    const conditions = [{ ...ready!, reason, message }, ...(isAtWork ? [reconciling!] : [])];
    return samplePolicy({ status: { ...rollingStatus, conditions } });
  };
  const flagsOf = () => ({ dir: 'm' });

  it('reports in a pipe why a policy waits, if its last line showed it at work', async () => {
    const { output, clock, view } = start();
    view.show(withReady('9 are left.', true));
    await clock.advance(60_000);
    view.show(withReady('Waits for its window.', false));
    await clock.advance(3_600_000);
    expect(output.text.split('\n').slice(1)).toEqual(['logging/production: Waits for its window.', '']);
    view.show(withReady('9 are left.', true));
    view.end();
    expect(clock.next()).toBeUndefined();
  });

  it.each([
    ['in a pipe', undefined],
    ['on a terminal', { columns: 120, rows: 40 }],
  ])('offers the command that retries: %s', async (_, terminal) => {
    const output = recordingOutput(terminal);
    const clock = new VirtualClock(nowMs);
    const view = new LiveView({ output, clock, flagsOf });
    const policy = withReady('No more upgrades will start.', false, 'RolloutStopped');
    const stopped = { reason: 'RolloutStopped' as const, time: '', message: '2 failures in the rollout' };
    const rollout = { ...rollingStatus.rollout!, stopped };
    view.show({ ...policy, status: { ...policy.status!, rollout } });
    await clock.advance(11_000);
    view.end();
    const text = terminal === undefined ? output.text : shownOn(output.text).join(' ').replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      '2 failures in the rollout. Set another target, or run: logfleet retry cvp/production --dir m',
    );
  });
});

it('writes no line in a pipe for a policy without status', () => {
  const { output, view } = start();
  view.show(samplePolicy({ status: undefined }));
  view.end();
  expect(output.text).toBe('');
});

describe('LiveView on a terminal', () => {
  const terminal = { columns: 100, rows: 40 };

  it('draws at most four times per second, and always the last state', async () => {
    const { output, clock, view, shown } = start(terminal);
    for (let updated = 100; updated <= 180; updated++) {
      view.show(withUpdated(updated));
      await clock.advance(10);
    }
    await clock.advance(250);
    expect(shown()[0]).toMatch(/ 180\/197 /);
    // The view changes 81 times, but is drawn at most five times.
    expect(output.text.split('\u001b[J').length - 1).toBeLessThanOrEqual(5);
  });

  it('shows how to resume everything', async () => {
    const output = recordingOutput(terminal);
    const clock = new VirtualClock(nowMs);
    const view = new LiveView({ output, clock, resumeAll: () => 'logfleet resume --all --dir m' });
    const [ready] = rollingStatus.conditions!;
    const paused = { ...ready!, status: 'Unknown' as const, reason: 'Paused', message: 'Paused by alice.' };
    view.show(samplePolicy({ status: { ...rollingStatus, conditions: [paused] } }));
    await clock.advance(250);
    expect(shownOn(output.text)).toContain('Paused by alice. To resume: logfleet resume --all --dir m');
    view.end();
  });

  it('shows the rate of upgrades and of requests', async () => {
    const { clock, view, shown } = start(terminal);
    view.request();
    view.show(withUpdated(100));
    await clock.advance(30_000);
    for (let request = 0; request < 16; request++) view.request();
    view.show(withUpdated(118));
    await clock.advance(250);
    expect(shown()).toContain('36 upgrades a minute, 3.2 requests a second, done in about 59s');
    await clock.advance(120_000);
    expect(shown()).toContain('0 upgrades a minute, 0.0 requests a second');
  });

  it('shows the latest events of a policy', async () => {
    const { clock, view, shown } = start(terminal);
    view.show(withUpdated(100));
    view.event(
      { kind: 'CollectorVersionPolicy', namespace: 'logging', name: 'production' },
      { type: 'Normal', reason: 'RolloutStarted', message: 'off we go' },
    );
    view.event(
      { kind: 'SearchExport', namespace: 'logging', name: 'production' },
      { type: 'Normal', reason: 'Lost', message: 'not shown' },
    );
    await clock.advance(250);
    expect(shown().slice(-2)).toEqual(['Latest', '  12:00:00Z  RolloutStarted  off we go']);
  });

  it('shows a policy without status as starting', async () => {
    const { clock, view, shown } = start(terminal);
    view.show(samplePolicy({ status: undefined }));
    await clock.advance(250);
    expect(shown()[0]).toMatch(/^logging\/production → 19\.500-1 {3}starting +0s$/);
  });

  it('shows several policies below each other, and removes deleted ones', async () => {
    const { clock, view, shown } = start(terminal);
    view.show(withUpdated(100));
    view.show(samplePolicy({ metadata: { name: 'staging' }, status: undefined }));
    await clock.advance(250);
    expect(shown().filter((line) => line.startsWith('logging/'))).toHaveLength(2);
    view.gone({ kind: 'CollectorVersionPolicy', namespace: 'logging', name: 'production' });
    await clock.advance(250);
    expect(shown()[0]).toMatch(/^logging\/staging /);
  });

  it('shows an export and a policy of the same name with their own events', async () => {
    const { clock, view, shown } = start(terminal);
    view.show(samplePolicy({ metadata: { name: 'errors' } }));
    view.show(sampleExport());
    const event = { type: 'Normal', reason: 'Planned', message: 'in 40 intervals' } as const;
    view.event({ kind: 'SearchExport', namespace: 'logging', name: 'errors' }, event);
    await clock.advance(250);
    const lines = shown();
    const begun = lines.findIndex((line) => /^logging\/errors {3}Exporting/.test(line));
    expect(begun).toBeGreaterThan(5);
    expect(lines.slice(0, begun).join('\n')).not.toContain('Planned');
    expect(lines.at(-1)).toBe('  12:00:00Z  Planned  in 40 intervals');
  });

  it('keeps printed lines above the view, draws the view a last time, and restores the terminal', async () => {
    const { output, clock, view, shown } = start(terminal);
    view.show(withUpdated(100));
    view.print('for the record');
    view.show(withUpdated(101));
    view.end();
    view.end();
    expect(shown()[0]).toBe('for the record');
    expect(shown()[1]).toMatch(/ 101\/197 /);
    expect(output.text.endsWith('\u001b[?25h')).toBe(true);
    expect(clock.next()).toBeUndefined();
  });
});
