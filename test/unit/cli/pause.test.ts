import { describe, expect, it, test } from 'vitest';
import { pauseCommand, resumeCommand } from '../../../src/cli/pause.ts';
import type { AnyResource } from '../../../src/cli/resource-access.ts';
import { wayOn } from '../../../src/cli/way-on.ts';
import { MemoryReader } from './memory-reader.ts';
import { recordingContext } from './recording-context.ts';
import { sampleExport } from './sample-export.ts';
import { rollingStatus, samplePolicy } from './sample-policy.ts';

const lastTransitionTime = '2026-11-02T12:00:00Z';
const pausedMetadata = { annotations: { 'logfleet.dev/paused': 'true' } };

async function run(command: typeof pauseCommand, resources: readonly AnyResource[], target = 'cvp/production') {
  const reader = new MemoryReader(resources);
  const context = recordingContext();
  const status = await command(target, {}, context, async () => reader);
  expect(reader.closed).toBe(true);
  return { status, stdout: context.stdout.text, annotated: reader.annotated };
}

describe('pause', () => {
  it('sets the annotation, and says what still goes on and how to resume', async () => {
    expect(await run(pauseCommand, [samplePolicy()])).toEqual({
      status: 0,
      stdout:
        'cvp/production in namespace logging: paused, nothing new is started; 6 in progress end by themselves. ' +
        'To go on: logfleet resume cvp/production\n',
      annotated: [{ key: 'logging/production', annotation: { name: 'logfleet.dev/paused', value: 'true' } }],
    });
  });

  it('counts one as one, and names the spec where that pauses, too', async () => {
    const collectors = { ...rollingStatus.collectors!, inProgress: 1 };
    const { stdout } = await run(pauseCommand, [
      samplePolicy({ paused: true, status: { ...rollingStatus, collectors } }),
    ]);
    expect(stdout).toBe(
      'cvp/production in namespace logging: paused, nothing new is started; 1 in progress ends by itself. ' +
        'To go on: take paused: true out of its manifest, and logfleet resume cvp/production\n',
    );
  });

  it('writes nothing when it is so already', async () => {
    const { stdout, annotated } = await run(pauseCommand, [
      samplePolicy({ metadata: pausedMetadata, status: undefined }),
    ]);
    expect(annotated).toEqual([]);
    expect(stdout).toBe(
      'cvp/production in namespace logging: was paused already, nothing new is started. ' +
        'To go on: logfleet resume cvp/production\n',
    );
  });

  it('replaces a value that does not pause', async () => {
    const { annotated } = await run(pauseCommand, [
      samplePolicy({ metadata: { annotations: { 'logfleet.dev/paused': 'yes' } } }),
    ]);
    expect(annotated).toHaveLength(1);
  });
});

describe('what pause says', () => {
  it('leads back with the same flags, fit for a shell', async () => {
    const context = recordingContext();
    const options = { dir: "it's mine", namespace: 'logging' };
    await pauseCommand('cvp/production', options, context, async () => new MemoryReader([samplePolicy()]));
    expect(context.stdout.text).toContain(
      "To go on: logfleet resume cvp/production --dir 'it'\\''s mine' -n logging\n",
    );
  });
});

describe('resume', () => {
  it('takes the annotation away', async () => {
    expect(await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata })])).toEqual({
      status: 0,
      stdout: 'cvp/production in namespace logging: resumed.\n',
      annotated: [{ key: 'logging/production', annotation: { name: 'logfleet.dev/paused', value: undefined } }],
    });
  });

  it('tells of a pause in the spec, which it must not touch', async () => {
    const { stdout, status } = await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata, paused: true })]);
    expect(stdout).toContain('its spec says paused: true');
    expect(status).toBe(1);
  });

  const pausedBy = (by: string) => {
    const message = `Paused by ${by}: nothing new is started.`;
    const ready = { type: 'Ready', status: 'Unknown', reason: 'Paused', message, lastTransitionTime } as const;
    return { ...rollingStatus, conditions: [ready] };
  };

  it.each([{ metadata: pausedMetadata }, {}])(
    'tells of a pause of everything, which it does not end: case %#',
    async (own) => {
      const status = pausedBy('the ConfigMap logfleet-settings');
      const context = recordingContext();
      const options = { dir: 'policies', namespace: 'logging' };
      const reader = new MemoryReader([samplePolicy({ ...own, status })]);
      expect(await resumeCommand('cvp/production', options, context, async () => reader)).toBe(1);
      expect(context.stdout.text).toMatch(
        /but everything is paused, .*: Paused by the ConfigMap logfleet-settings: .* To go on: logfleet resume --all --dir policies\n$/,
      );
    },
  );

  it('takes a pause of its own for none of everything, although status tells of it still', async () => {
    const status = pausedBy('the annotation logfleet.dev/paused');
    expect((await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata, status })])).status).toBe(0);
    expect((await run(resumeCommand, [samplePolicy({ status: pausedBy('spec.paused') })])).status).toBe(0);
  });

  it('writes nothing when there is nothing to take away', async () => {
    const { stdout, annotated } = await run(resumeCommand, [samplePolicy()]);
    expect(annotated).toEqual([]);
    expect(stdout).toBe('cvp/production in namespace logging: was not paused by annotation.\n');
  });
});

describe('an export', () => {
  it('is paused and resumed as a policy is; searches that run are read to the end', async () => {
    const paused = await run(pauseCommand, [sampleExport()], 'sx/errors');
    expect(paused.stdout).toBe(
      'sx/errors in namespace logging: paused, nothing new is started; 2 searches that run are read to the end. To go on: logfleet resume sx/errors\n',
    );
    const annotations = { 'logfleet.dev/paused': 'true' };
    const resumed = await run(resumeCommand, [sampleExport({ metadata: { annotations } })], 'sx/errors');
    expect(resumed).toMatchObject({
      stdout: 'sx/errors in namespace logging: resumed.\n',
      annotated: [{ key: 'logging/errors', annotation: { name: 'logfleet.dev/paused', value: undefined } }],
    });
  });
});

test('an export that is complete is not paused, and not offered to go on', async () => {
  const conditions = [
    { type: 'Complete', status: 'True' as const, reason: 'Exported', message: '', lastTransitionTime },
  ];
  const complete = sampleExport({ paused: true, status: { conditions } });
  expect(wayOn(complete, {})).toBeUndefined();
  const pausing = run(pauseCommand, [complete], 'sx/errors');
  await expect(pausing).rejects.toMatchObject({
    code: 'cli.nothingToDo',
    message: expect.stringContaining('it is complete'),
  });
});

describe('KIND/NAME', () => {
  it.each(['production', 'cvp', 'cvp/', '/production', 'cvp/a/b'])(
    '%s is refused with what to write',
    async (target) => {
      await expect(run(pauseCommand, [samplePolicy()], target)).rejects.toMatchObject({
        code: 'cli.usage',
        message: `'${target}' names no resource; write KIND/NAME, as in cvp/production`,
      });
    },
  );

  it('of an unknown kind lists the kinds', async () => {
    await expect(run(pauseCommand, [samplePolicy()], 'pod/audit')).rejects.toMatchObject({
      message: "there is no kind 'pod'; write cvp (CollectorVersionPolicy) or sx (SearchExport)",
    });
  });

  it('that does not exist is not found', async () => {
    const options = { dir: 'policies', namespace: 'logging' };
    const pausing = pauseCommand('cvp/production', options, recordingContext(), async () => new MemoryReader([]));
    await expect(pausing).rejects.toMatchObject({
      code: 'cli.notFound',
      message: expect.stringMatching(/; logfleet get cvp -A --dir policies lists those that there are$/),
    });
  });
});

test.each([pauseCommand, resumeCommand])('tells that nobody acts on it where no process runs', async (command) => {
  const reader = new MemoryReader([samplePolicy({ metadata: pausedMetadata })]);
  reader.idleNote = async () => 'No process works on it.';
  const context = recordingContext();
  expect(await command('cvp/production', {}, context, async () => reader)).toBe(0);
  expect(context.stderr.text).toBe('No process works on it.\n');
});
