/** Tests `approve`, `retry` and `abort`: their annotations and messages, and commands that are refused. */
import { describe, expect, it } from 'vitest';
import { parseApproval, parseRolloutRequest } from '../../../src/api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  Stage,
  StageStatus,
} from '../../../src/api/generated/collector-version-policy.ts';
import type { SearchExportScheduleStatus } from '../../../src/api/generated/search-export-schedule.ts';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { CommandContext } from '../../../src/cli/command/context.ts';
import type { ApproveOptions } from '../../../src/cli/command/options.ts';
import { approveCommand } from '../../../src/cli/person/approve.ts';
import { abortCommand, retryCommand } from '../../../src/cli/person/retry-abort.ts';
import type { OpenResources } from '../../../src/cli/resources/resource-access.ts';
import { MemoryReader } from '../../support/memory-reader.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { sampleExport } from './sample-export.ts';
import { nowMs, rollingStatus, samplePolicy } from './sample-policy.ts';
import { sampleSchedule } from './sample-schedule.ts';

type StoppedReason = NonNullable<NonNullable<CollectorVersionPolicyStatus['rollout']>['stopped']>['reason'];

const id = '3-19.500-1';
const now = new Date(nowMs).toISOString();
const rollout = { id, startTime: now };

function stage(name: string, state: StageStatus['state'], members = 20, failed = 0): StageStatus {
  return { name, state, members, updated: 0, failed };
}

const canary = stage('canary', 'Completed', 2);
const waiting = [canary, stage('linux', 'AwaitingApproval', 120), stage('rest', 'Pending')];
const stages: readonly Stage[] = [
  { name: 'canary', size: '1%', soakDuration: '1h' },
  { name: 'linux', selector: { matchFields: { osName: 'Linux' } }, soakDuration: '0s', approval: 'Required' },
  { name: 'rest', soakDuration: '0s' },
];

/**
 * For each kind of stopped rollout, the reason of the policy's `Ready` condition, and the reason in
 * `status.rollout.stopped`.
 */
const stops: Readonly<Record<string, StoppedReason>> = {
  RolloutStopped: 'RolloutStopped',
  Aborted: 'Aborted',
  StageInconclusive: 'StageInconclusive',
  RollingBack: 'RollingBack',
  RolledBack: 'RollingBack',
};

function policy(
  status: Partial<CollectorVersionPolicyStatus>,
  reason = 'RollingOut',
  metadata: { annotations: Record<string, string> } = { annotations: {} },
  spec: readonly Stage[] = stages,
): CollectorVersionPolicy {
  const ready = { type: 'Ready', status: 'False', reason, message: 'Because.', lastTransitionTime: now } as const;
  const collectors = { ...rollingStatus.collectors!, offline: 0 };
  const stop = stops[reason];
  const stopped = stop && { stopped: { reason: stop, time: now, message: 'Because.' } };
  const sample = samplePolicy({
    metadata,
    status: { ...rollingStatus, collectors, rollout: { ...rollout, ...stopped }, conditions: [ready], ...status },
  });
  return { ...sample, spec: { ...sample.spec, strategy: { ...sample.spec.strategy, stages: spec } } };
}

function failing(failed: number, inProgress = 0) {
  return { collectors: { ...rollingStatus.collectors!, failed, inProgress } };
}

type Command = (
  target: string,
  options: ApproveOptions,
  context: CommandContext,
  open: OpenResources,
  clock: Clock,
) => Promise<number>;

const commands: { readonly [name in 'approve' | 'retry' | 'abort']: Command } = {
  approve: approveCommand,
  retry: retryCommand,
  abort: abortCommand,
};

async function run(name: keyof typeof commands, resource: CollectorVersionPolicy, options: ApproveOptions = {}) {
  const reader = new MemoryReader([resource]);
  const context = recordingContext();
  const clock = new VirtualClock(nowMs);
  const failure = await commands[name]('cvp/production', options, context, async () => reader, clock).then(
    (status) => (status === 0 ? undefined : status),
    (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
  );
  expect(reader.closed).toBe(true);
  const report = context.stdout.text.replace(/^cvp\/production in namespace logging: /, '').trimEnd();
  return { failure, report, annotated: reader.annotated };
}

const written = (name: string, value: string) => [
  { key: 'logging/production', annotation: { name: `logfleet.dev/${name}`, value } },
];

describe('retry of a schedule', () => {
  const gap = { from: '2026-11-22T12:00:00Z', to: '2026-11-22T13:00:00Z', run: 'errors-1', reason: 'DeadlineExceeded' };

  const run = { name: 'errors-1', from: gap.from, to: gap.to };

  async function retry(status: SearchExportScheduleStatus) {
    const reader = new MemoryReader([{ ...sampleSchedule, status }]);
    const context = recordingContext();
    await retryCommand('sxs/errors', {}, context, async () => reader, new VirtualClock(nowMs));
    expect(reader.annotated).toMatchObject([{ annotation: { name: 'logfleet.dev/requestedAt', value: now } }]);
    return context.stdout.text.replace('sxs/errors in namespace logging: ', '');
  }

  it('requests that failed and stalled runs are exported again', async () => {
    expect(await retry({ gaps: [gap] })).toMatch(/^the schedule exports 1 failed run again\./);
    const runs = [
      { ...run, state: 'Stalled' as const },
      { ...run, name: 'errors-2', state: 'Active' as const },
    ];
    expect(await retry({ gaps: [gap], runs })).toMatch(/^the schedule exports 2 failed or stalled runs again\./);
  });

  it('does not count a stalled run whose time range is already exported', async () => {
    const { from, to } = run;
    expect(await retry({ covered: [{ from, to }], runs: [{ ...run, state: 'Stalled' }] })).toMatch(
      /^no run has failed\./,
    );
  });

  it('requests that lost records are rewritten, although no run has failed', async () => {
    expect(await retry({ gaps: [] })).toMatch(/^no run has failed\./);
  });
});

it.each(['approve', 'retry', 'abort'] as const)('%s refuses an export', async (name) => {
  const reader = new MemoryReader([sampleExport()]);
  const done = commands[name]('sx/errors', {}, recordingContext(), async () => reader, new VirtualClock(nowMs));
  const message = expect.stringMatching(/^sx\/errors is a SearchExport, .* run: logfleet pause sx\/errors$/);
  await expect(done).rejects.toMatchObject({ code: 'cli.usage', message });
  expect(reader.annotated).toEqual([]);
});

describe('approve', () => {
  it('approves the waiting stage', async () => {
    const { report, annotated } = await run('approve', policy({ stages: waiting }));
    expect(report).toBe(
      `approved stage linux of rollout ${id}: its 120 collectors are upgraded as soon as maxInProgress permits.`,
    );
    expect(annotated).toEqual(written('approve', `${id}/linux`));
    expect(parseApproval(annotated[0]?.annotation.value)).toEqual({ rolloutId: id, stage: 'linux' });
  });

  it('uses singular forms, and reports a pause', async () => {
    const paused = { annotations: { 'logfleet.dev/paused': 'true' } };
    const one = policy({ stages: [stage('linux', 'AwaitingApproval', 1)] }, 'Paused', paused);
    const { report } = await run('approve', one, { dir: 'policies' });
    expect(report).toBe(
      `approved stage linux of rollout ${id}: its 1 collector is upgraded as soon as maxInProgress permits. ` +
        'The resource is paused. To resume: logfleet resume cvp/production --dir policies',
    );
  });

  it.each([
    [5, '15 of its 20 collectors are'],
    [19, '1 of its 20 collectors is'],
  ])('leaves out %d updated collectors', async (updated, shown) => {
    const { report } = await run('approve', policy({ stages: [{ ...stage('linux', 'AwaitingApproval'), updated }] }));
    expect(report).toBe(`approved stage linux of rollout ${id}: ${shown} upgraded as soon as maxInProgress permits.`);
  });

  it('mentions the maintenance window', async () => {
    const { spec, ...rest } = policy({ stages: waiting });
    const maintenance = { windows: [], cutoff: '0s' };
    const { report } = await run('approve', { ...rest, spec: { ...spec, maintenance } });
    expect(report).toContain('upgraded as soon as maxInProgress and the maintenance window permit.');
  });

  it('mentions offline collectors', async () => {
    const collectors = { ...rollingStatus.collectors!, offline: 6 };
    const { report } = await run('approve', policy({ stages: waiting, collectors }));
    expect(report).toBe(
      `approved stage linux of rollout ${id}: its 120 collectors are upgraded as soon as maxInProgress permits. Offline collectors are upgraded when they are online again (6 in the whole policy).`,
    );
  });

  it('approves a named stage, even in advance', async () => {
    expect((await run('approve', policy({ stages: waiting }), { stage: 'linux' })).annotated).toHaveLength(1);
    const early = [stage('canary', 'Soaking', 2), stage('linux', 'Pending')];
    const { report, annotated } = await run('approve', policy({ stages: early }), { stage: 'linux' });
    expect(report).toBe(
      `approved stage linux of rollout ${id} in advance: the stage starts after the stages before it.`,
    );
    expect(annotated).toEqual(written('approve', `${id}/linux`));
  });

  it('approves a stage without collectors in advance, because such a stage would wait', async () => {
    const empty = { name: 'empty', selector: { matchFields: { osName: 'Solaris' } }, soakDuration: '0s' };
    const spec = [...stages.slice(0, 1), empty, ...stages.slice(2)];
    const status = {
      stages: [stage('canary', 'Soaking', 2), stage('empty', 'Pending', 0), stage('rest', 'Pending', 0)],
    };
    const resource = policy(status, undefined, undefined, spec);
    expect((await run('approve', resource, { stage: 'empty' })).annotated).toEqual(written('approve', `${id}/empty`));
    expect((await run('approve', resource)).failure).toMatch('to approve stage empty in advance, add --stage empty');
    expect((await run('approve', resource, { stage: 'rest' })).failure).toMatch('stage rest needs no approval');
  });

  it('writes a new value after a retry, which cancels approvals (R9)', async () => {
    const actions = [
      { action: 'Approve', stage: 'linux', time: '2026-11-01T00:00:00Z' },
      { action: 'Retry', time: '2026-11-02T00:00:00Z' },
    ] as const;
    const value = { annotations: { 'logfleet.dev/approve': `${id}/linux` } };
    const { annotated } = await run(
      'approve',
      policy({ stages: waiting, rollout: { ...rollout, actions } }, 'x', value),
    );
    expect(annotated).toEqual(written('approve', `${id}/linux/2026-11-02T00:00:00Z`));
    expect(parseApproval(annotated[0]?.annotation.value)).toEqual({ rolloutId: id, stage: 'linux' });
  });

  it.each([undefined, 'canary'])('ends an inconclusive stage by a new value, with --stage %s', async (name) => {
    const stopped = {
      reason: 'StageInconclusive',
      stage: 'canary',
      message: 'None.',
      time: '2026-11-02T00:00:00Z',
    } as const;
    const actions = [{ action: 'Approve', stage: 'canary', time: '2026-11-01T00:00:00Z' }] as const;
    const value = { annotations: { 'logfleet.dev/approve': `${id}/canary` } };
    const status = { stages: [stage('canary', 'Stopped', 2)], rollout: { ...rollout, actions, stopped } };
    const options = name === undefined ? {} : { stage: name };
    const { report, annotated } = await run('approve', policy(status, 'StageInconclusive', value), options);
    expect(report).toBe(
      `ended stage canary of rollout ${id}, although none of its collectors runs the target version: the rollout continues.`,
    );
    expect(annotated).toEqual(written('approve', `${id}/canary/2026-11-02T00:00:00Z`));
  });

  it('skips a stage without members', async () => {
    const { report } = await run('approve', policy({ stages: [stage('empty', 'AwaitingApproval', 0)] }));
    expect(report).toBe(
      `approved stage empty of rollout ${id}: the stage has no collectors now. If it is still empty when it starts, it is skipped.`,
    );
  });

  it('does not replace an approval that the operator has not read', async () => {
    const both = [stage('linux', 'AwaitingApproval'), stage('rest', 'Pending')];
    const asked = stages.map((one) => ({ ...one, approval: 'Required' as const }));
    const value = { annotations: { 'logfleet.dev/approve': `${id}/linux` } };
    const { failure, annotated } = await run('approve', policy({ stages: both }, 'x', value, asked), { stage: 'rest' });
    expect(failure).toBe(
      'cli.nothingToDo cvp/production: no operator has read the approval of stage linux yet, and another approval would replace it: approve stage rest later',
    );
    expect(annotated).toEqual([]);
    const actions = [{ action: 'Approve', stage: 'linux', time: now }] as const;
    const heard = policy({ stages: both, rollout: { ...rollout, actions } }, 'x', value, asked);
    expect((await run('approve', heard, { stage: 'rest' })).annotated).toEqual(written('approve', `${id}/rest`));
  });

  it('writes nothing if the stage of this rollout is already approved', async () => {
    const approved = (value: string) =>
      policy({ stages: waiting }, 'x', { annotations: { 'logfleet.dev/approve': value } });
    const again = await run('approve', approved(`${id}/linux`));
    expect(again).toMatchObject({ report: `stage linux of rollout ${id} is already approved.`, annotated: [] });
    expect((await run('approve', approved('2-19.400-1/linux'))).annotated).toHaveLength(1);
  });

  it.each([
    [
      'no stage waits, and a later stage needs approval',
      [stage('canary', 'Soaking'), stage('linux', 'Pending')],
      undefined,
      `cli.nothingToDo cvp/production: no stage of rollout ${id} is waiting for approval (canary Soaking, linux Pending); to approve stage linux in advance, add --stage linux`,
    ],
    [
      'no stage waits, and no stage needs approval',
      [stage('canary', 'Completed'), stage('linux', 'Progressing'), stage('rest', 'Pending')],
      undefined,
      `cli.nothingToDo cvp/production: no stage of rollout ${id} is waiting for approval (canary Completed, linux Progressing, rest Pending); no later stage needs an approval`,
    ],
    ['the rollout has no stages', [], undefined, `cli.nothingToDo cvp/production: rollout ${id} has no stages`],
    [
      'the stage does not exist',
      waiting,
      'prod',
      `cli.usage rollout ${id} has no stage 'prod'; stages of the rollout: canary, linux, rest`,
    ],
    [
      'the stage does not exist in a rollout without stages',
      [],
      'prod',
      `cli.usage rollout ${id} has no stage 'prod'; stages of the rollout: none`,
    ],
    [
      'the stage needs no approval',
      waiting,
      'rest',
      'cli.nothingToDo cvp/production: stage rest needs no approval: the stage starts after the stages before it',
    ],
    [
      'the stage has started',
      waiting,
      'canary',
      `cli.nothingToDo cvp/production: stage canary of rollout ${id} has already started, so the stage needs no approval`,
    ],
    [
      'the rollout was stopped',
      [stage('canary', 'Stopped')],
      'canary',
      `cli.nothingToDo cvp/production: rollout ${id} was stopped in stage canary, so an approval has no effect. To continue the rollout: logfleet retry cvp/production`,
    ],
  ])('refuses and offers an alternative: %s', async (_, all, name, failure) => {
    const outcome = await run('approve', policy({ stages: all }), name === undefined ? {} : { stage: name });
    expect(outcome).toEqual({ failure, report: '', annotated: [] });
  });
});

describe('retry', () => {
  it.each([
    ['RolloutStopped', 12, `rollout ${id} continues, and retries the failed upgrades of 12 collectors.`],
    ['Aborted', 0, `rollout ${id} continues.`],
    ['StageInconclusive', 2, `rollout ${id} continues, and retries the failed upgrades of 2 collectors.`],
    ['RolledBack', 1, `rollout ${id} continues, and retries the failed upgrades of 1 collector.`],
    ['RollingBack', 0, `rollout ${id} continues.`],
    ['CollectorsFailed', 2, `rollout ${id} retries the failed upgrades of 2 collectors.`],
    ['CollectorsRefused', 0, `rollout ${id} retries failed upgrades.`],
  ])('after %s with %d failed', async (reason, failed, report) => {
    const outcome = await run('retry', policy(failing(failed), reason));
    expect(outcome).toEqual({ failure: undefined, report, annotated: written('retry', `${id}/${now}`) });
    expect(parseRolloutRequest(outcome.annotated[0]?.annotation.value)?.rolloutId).toBe(id);
  });

  it('uses the failures of stages', async () => {
    const failed = policy({ ...failing(0), stages: [stage('canary', 'Soaking', 20, 1)] });
    expect((await run('retry', failed)).report).toBe(`rollout ${id} retries failed upgrades.`);
  });

  it.each(['RefusedByService: too old', 'RefusedByService', 'NotPermitted', 'Contested'])(
    'retries a refused collector (%s) if Ready has another reason',
    async (reason) => {
      const refused = policy({ ...failing(0), skippedReasons: [{ reason, count: 1 }] });
      expect((await run('retry', refused)).annotated).toEqual(written('retry', `${id}/${now}`));
    },
  );

  it('refuses if only hosted collectors are skipped', async () => {
    const hosted = policy({ ...failing(0), skippedReasons: [{ reason: 'HostedCollector', count: 1 }] });
    expect((await run('retry', hosted)).failure).toContain('has no failures');
  });

  it('uses the stop of the rollout if Ready shows a pause', async () => {
    const stopped = { reason: 'RolloutStopped', time: now, message: 'Too many failed.' } as const;
    const paused = policy({ ...failing(0), rollout: { ...rollout, stopped } }, 'Paused');
    expect((await run('retry', paused)).report).toBe(`rollout ${id} continues.`);
    const aborted = policy({ rollout: { ...rollout, stopped: { ...stopped, reason: 'Aborted' } } }, 'Paused');
    expect((await run('abort', aborted)).failure).toContain('is already aborted');
  });

  it('reports a pause', async () => {
    const paused = { annotations: { 'logfleet.dev/paused': 'true' } };
    const { report } = await run('retry', policy(failing(1), 'Paused', paused));
    expect(report).toMatch(/ The resource is paused. To resume: logfleet resume cvp\/production$/);
  });

  it('refuses without failures', async () => {
    const { failure, annotated } = await run('retry', policy(failing(0, 6)));
    expect(failure).toBe(`cli.nothingToDo cvp/production: rollout ${id} is not stopped and has no failures`);
    expect(annotated).toEqual([]);
  });
});

describe('abort', () => {
  it.each([
    [6, '; 6 upgrades in flight run to completion'],
    [1, '; 1 upgrade in flight runs to completion'],
    [0, ''],
  ])('ends a rollout with %d in progress', async (inProgress, ending) => {
    const { report, annotated } = await run('abort', policy(failing(0, inProgress)), { namespace: 'logging' });
    expect(report).toBe(
      `aborted rollout ${id}${ending}. Upgraded collectors stay upgraded. ` +
        'Set another target, or continue the rollout with: logfleet retry cvp/production -n logging',
    );
    expect(annotated).toEqual(written('abort', `${id}/${now}`));
  });

  it.each([
    ['Aborted', 'is already aborted'],
    ['RolledBack', 'is already rolled back'],
  ])('refuses after %s', async (reason, over) => {
    const { failure, annotated } = await run('abort', policy({}, reason));
    expect(failure).toBe(
      `cli.nothingToDo cvp/production: rollout ${id} cannot be aborted, because it ${over}: set another target, or continue the rollout with: logfleet retry cvp/production`,
    );
    expect(annotated).toEqual([]);
  });
});

describe.each(['approve', 'retry', 'abort'] as const)('without a rollout, %s', (name) => {
  it('also says that no operator is running', async () => {
    const reader = new MemoryReader([samplePolicy({ status: undefined })]);
    reader.idleNote = async () => 'No operator works there.';
    const context = recordingContext();
    const ended = commands[name]('cvp/production', {}, context, async () => reader, new VirtualClock(nowMs));
    await expect(ended).rejects.toMatchObject({ code: 'cli.nothingToDo' });
    expect(context.stderr.text).toBe('No operator works there.\n');
  });

  it('reports that there is no rollout', async () => {
    const { rollout: _, ...status } = rollingStatus;
    const summary = { updated: '200/200', state: 'AllUpdated' };
    const { failure } = await run(name, samplePolicy({ status: { ...status, summary } }));
    expect(failure).toBe(`cli.nothingToDo cvp/production: there is no rollout to ${name} (AllUpdated)`);
  });

  it('reports a missing status', async () => {
    const { failure } = await run(name, samplePolicy({ status: undefined }));
    expect(failure).toBe(
      'cli.nothingToDo cvp/production: no operator has read the policy yet, so it has no rollout: wait until its status appears',
    );
  });
});
