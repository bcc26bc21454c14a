/** `approve`, `retry` and `abort`: the annotation that they write, what they say, and when there is nothing to do. */
import { describe, expect, it } from 'vitest';
import { parseApproval, parseRolloutRequest } from '../../../src/api/annotations.ts';
import type {
  CollectorVersionPolicyStatus,
  Stage,
  StageStatus,
} from '../../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { approveCommand } from '../../../src/cli/approve.ts';
import type { CommandContext } from '../../../src/cli/context.ts';
import type { ApproveOptions } from '../../../src/cli/options.ts';
import type { OpenResources } from '../../../src/cli/resource-access.ts';
import { abortCommand, retryCommand } from '../../../src/cli/rollout-request.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { MemoryReader } from './memory-reader.ts';
import { recordingContext } from './recording-context.ts';
import { sampleExport } from './sample-export.ts';
import { nowMs, rollingStatus, samplePolicy } from './sample-policy.ts';

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

/** In a rollout, with these stages and this reason of `Ready`. */
function policy(
  status: Partial<CollectorVersionPolicyStatus>,
  reason = 'RollingOut',
  metadata: { annotations: Record<string, string> } = { annotations: {} },
  spec: readonly Stage[] = stages,
): CollectorVersionPolicy {
  const ready = { type: 'Ready', status: 'False', reason, message: 'Because.', lastTransitionTime: now } as const;
  const collectors = { ...rollingStatus.collectors!, offline: 0 };
  const sample = samplePolicy({
    metadata,
    status: { ...rollingStatus, collectors, rollout, conditions: [ready], ...status },
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
  const said = context.stdout.text.replace(/^cvp\/production in namespace logging: /, '').trimEnd();
  return { failure, said, annotated: reader.annotated };
}

const written = (name: string, value: string) => [
  { key: 'logging/production', annotation: { name: `logfleet.dev/${name}`, value } },
];

it.each([
  ['approve', 'which has no stages: there is nothing to approve'],
  ['retry', 'which tries again by itself: mend what its condition names, and it goes on'],
  ['abort', 'which ends once its manifest is deleted; logfleet pause sx/errors only holds it'],
] as const)('%s refuses an export', async (name, why) => {
  const reader = new MemoryReader([sampleExport()]);
  const done = commands[name]('sx/errors', {}, recordingContext(), async () => reader, new VirtualClock(nowMs));
  await expect(done).rejects.toMatchObject({ code: 'cli.usage', message: `sx/errors is an export, ${why}` });
  expect(reader.annotated).toEqual([]);
});

describe('approve', () => {
  it('approves the stage that waits for it', async () => {
    const { said, annotated } = await run('approve', policy({ stages: waiting }));
    expect(said).toBe(`approved stage linux of rollout ${id}: its 120 collectors are upgraded from now on.`);
    expect(annotated).toEqual(written('approve', `${id}/linux`));
    expect(parseApproval(annotated[0]?.annotation.value)).toEqual({ rolloutId: id, stage: 'linux' });
  });

  it('counts one as one, and says so when it is paused besides', async () => {
    const paused = { annotations: { 'logfleet.dev/paused': 'true' } };
    const one = policy({ stages: [stage('linux', 'AwaitingApproval', 1)] }, 'Paused', paused);
    const { said } = await run('approve', one, { dir: 'policies' });
    expect(said).toBe(
      `approved stage linux of rollout ${id}: its 1 collector is upgraded from now on. ` +
        'It is paused; to go on: logfleet resume cvp/production --dir policies',
    );
  });

  it.each([
    [5, '15 of its 20 collectors are'],
    [19, '1 of its 20 collectors is'],
  ])('leaves out the %d who are at the target already', async (updated, who) => {
    const { said } = await run('approve', policy({ stages: [{ ...stage('linux', 'AwaitingApproval'), updated }] }));
    expect(said).toBe(`approved stage linux of rollout ${id}: ${who} upgraded from now on.`);
  });

  it('says so where some may be offline, which are upgraded later', async () => {
    const collectors = { ...rollingStatus.collectors!, offline: 6 };
    const { said } = await run('approve', policy({ stages: waiting, collectors }));
    expect(said).toBe(
      `approved stage linux of rollout ${id}: its 120 collectors are upgraded from now on, those of them that are offline once they are back (6 in the whole policy).`,
    );
  });

  it('approves a stage that is named, also ahead of its turn', async () => {
    expect((await run('approve', policy({ stages: waiting }), { stage: 'linux' })).annotated).toHaveLength(1);
    const early = [stage('canary', 'Soaking', 2), stage('linux', 'Pending')];
    const { said, annotated } = await run('approve', policy({ stages: early }), { stage: 'linux' });
    expect(said).toBe(
      `approved stage linux of rollout ${id} ahead of its turn: it begins once those before it have ended.`,
    );
    expect(annotated).toEqual(written('approve', `${id}/linux`));
  });

  it('writes another value after a retry, which may have made the one before void (R9)', async () => {
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

  it('takes the place of no approval that nobody has heard of yet', async () => {
    const both = [stage('linux', 'AwaitingApproval'), stage('rest', 'Pending')];
    const asked = stages.map((one) => ({ ...one, approval: 'Required' as const }));
    const value = { annotations: { 'logfleet.dev/approve': `${id}/linux` } };
    const { failure, annotated } = await run('approve', policy({ stages: both }, 'x', value, asked), { stage: 'rest' });
    expect(failure).toBe(
      'cli.nothingToDo cvp/production: stage linux was approved, and nobody has heard of it yet; approve rest once an operator has looked: one annotation holds one approval',
    );
    expect(annotated).toEqual([]);
    const actions = [{ action: 'Approve', stage: 'linux', time: now }] as const;
    const heard = policy({ stages: both, rollout: { ...rollout, actions } }, 'x', value, asked);
    expect((await run('approve', heard, { stage: 'rest' })).annotated).toEqual(written('approve', `${id}/rest`));
  });

  it('writes nothing when it is approved already, and something when another rollout was', async () => {
    const approved = (value: string) =>
      policy({ stages: waiting }, 'x', { annotations: { 'logfleet.dev/approve': value } });
    const again = await run('approve', approved(`${id}/linux`));
    expect(again).toMatchObject({ said: `stage linux of rollout ${id} was approved already.`, annotated: [] });
    expect((await run('approve', approved('2-19.400-1/linux'))).annotated).toHaveLength(1);
  });

  it.each([
    [
      'none waits, and one needs it later',
      [stage('canary', 'Soaking'), stage('linux', 'Pending')],
      undefined,
      `cli.nothingToDo cvp/production: no stage of rollout ${id} waits for approval now (canary Soaking, linux Pending); write --stage linux to approve that one ahead of its turn`,
    ],
    [
      'none waits, and none needs it',
      [stage('canary', 'Completed'), stage('linux', 'Progressing'), stage('rest', 'Pending')],
      undefined,
      `cli.nothingToDo cvp/production: no stage of rollout ${id} waits for approval now (canary Completed, linux Progressing, rest Pending); no stage that is left needs an approval`,
    ],
    [
      'there are none',
      [],
      undefined,
      `cli.nothingToDo cvp/production: rollout ${id} has no stages, so that there is nothing to approve`,
    ],
    ['it does not exist', waiting, 'prod', `cli.usage rollout ${id} has no stage 'prod': it has canary, linux, rest`],
    ['it does not exist, nor does any', [], 'prod', `cli.usage rollout ${id} has no stage 'prod': it has none`],
    [
      'it needs none',
      waiting,
      'rest',
      'cli.nothingToDo cvp/production: stage rest needs no approval; it begins once those before it have ended',
    ],
    [
      'it has begun',
      waiting,
      'canary',
      `cli.nothingToDo cvp/production: stage canary of rollout ${id} has begun already, so that there is nothing to approve`,
    ],
    [
      'it was stopped',
      [stage('canary', 'Stopped')],
      'canary',
      `cli.nothingToDo cvp/production: rollout ${id} was stopped in stage canary; logfleet retry cvp/production goes on with it`,
    ],
  ])('refuses where %s, with what to do instead', async (_, all, name, failure) => {
    const outcome = await run('approve', policy({ stages: all }), name === undefined ? {} : { stage: name });
    expect(outcome).toEqual({ failure, said: '', annotated: [] });
  });
});

describe('retry', () => {
  it.each([
    ['RolloutStopped', 12, `rollout ${id} goes on, and 12 collectors that failed are tried again.`],
    ['Aborted', 0, `rollout ${id} goes on.`],
    ['RolledBack', 1, `rollout ${id} goes on, and 1 collector that failed is tried again.`],
    ['RollingBack', 0, `rollout ${id} goes on.`],
    ['CollectorsFailed', 2, `2 collectors that failed are tried again in rollout ${id}.`],
    ['CollectorsRefused', 0, `what failed is tried again in rollout ${id}.`],
  ])('after %s with %d failed', async (reason, failed, said) => {
    const outcome = await run('retry', policy(failing(failed), reason));
    expect(outcome).toEqual({ failure: undefined, said, annotated: written('retry', `${id}/${now}`) });
    expect(parseRolloutRequest(outcome.annotated[0]?.annotation.value)?.rolloutId).toBe(id);
  });

  it('goes by the stages, too', async () => {
    const stopped = policy({ ...failing(0), stages: [stage('canary', 'Stopped')] });
    expect((await run('retry', stopped)).said).toBe(`rollout ${id} goes on.`);
    const failed = policy({ ...failing(0), stages: [stage('canary', 'Soaking', 20, 1)] });
    expect((await run('retry', failed)).said).toBe(`what failed is tried again in rollout ${id}.`);
  });

  it.each(['RefusedByService: too old', 'RefusedByService', 'NotPermitted', 'Contested'])(
    'goes by who is left alone as %s where `Ready` tells of something else first',
    async (reason) => {
      const refused = policy({ ...failing(0), skippedReasons: [{ reason, count: 1 }] });
      expect((await run('retry', refused)).annotated).toEqual(written('retry', `${id}/${now}`));
    },
  );

  it('tries nobody again who cannot be upgraded', async () => {
    const hosted = policy({ ...failing(0), skippedReasons: [{ reason: 'HostedCollector', count: 1 }] });
    expect((await run('retry', hosted)).failure).toContain('there is nothing to retry');
  });

  it('goes by what stopped it where `Ready` tells of a pause first', async () => {
    const stopped = { reason: 'RolloutStopped', time: now, message: 'Too many failed.' } as const;
    const paused = policy({ ...failing(0), rollout: { ...rollout, stopped } }, 'Paused');
    expect((await run('retry', paused)).said).toBe(`rollout ${id} goes on.`);
    const aborted = policy({ rollout: { ...rollout, stopped: { ...stopped, reason: 'Aborted' } } }, 'Paused');
    expect((await run('abort', aborted)).failure).toContain('was aborted already');
  });

  it('says so when it is paused besides', async () => {
    const paused = { annotations: { 'logfleet.dev/paused': 'true' } };
    const { said } = await run('retry', policy(failing(1), 'Paused', paused));
    expect(said).toMatch(/ It is paused; to go on: logfleet resume cvp\/production$/);
  });

  it('refuses where there is nothing to retry', async () => {
    const { failure, annotated } = await run('retry', policy(failing(0, 6)));
    expect(failure).toBe(
      `cli.nothingToDo cvp/production: rollout ${id} is not stopped and nothing in it has failed: there is nothing to retry`,
    );
    expect(annotated).toEqual([]);
  });
});

describe('abort', () => {
  it.each([
    [6, '; 6 in progress end by themselves'],
    [1, '; 1 in progress ends by itself'],
    [0, ''],
  ])('ends a rollout with %d in progress', async (inProgress, ending) => {
    const { said, annotated } = await run('abort', policy(failing(0, inProgress)), { namespace: 'logging' });
    expect(said).toBe(
      `aborted rollout ${id}: nothing more is started${ending}. Who was upgraded stays so. ` +
        'Set another target, or go on with this one: logfleet retry cvp/production -n logging',
    );
    expect(annotated).toEqual(written('abort', `${id}/${now}`));
  });

  it.each([
    ['Aborted', 'was aborted already'],
    ['RolledBack', 'was rolled back already'],
  ])('refuses after %s', async (reason, over) => {
    const { failure, annotated } = await run('abort', policy({}, reason));
    expect(failure).toBe(
      `cli.nothingToDo cvp/production: rollout ${id} ${over}; set another target, or go on with it: logfleet retry cvp/production`,
    );
    expect(annotated).toEqual([]);
  });
});

describe.each(['approve', 'retry', 'abort'] as const)('without a rollout, %s', (name) => {
  it('says that there is none, and why', async () => {
    const { rollout: _, ...status } = rollingStatus;
    const summary = { updated: '200/200', state: 'AllUpdated' };
    const { failure } = await run(name, samplePolicy({ status: { ...status, summary } }));
    expect(failure).toBe(
      `cli.nothingToDo cvp/production: no rollout is under way (AllUpdated), so that there is nothing to ${name}`,
    );
  });

  it('says that nobody has looked at it yet', async () => {
    const { failure } = await run(name, samplePolicy({ status: undefined }));
    expect(failure).toBe('cli.nothingToDo cvp/production: nothing has looked at it yet; is an operator running?');
  });
});
