import { describe, expect, it, test } from 'vitest';
import type { AnyResource } from '../../../src/api/kinds.ts';
import { pauseCommand, resumeCommand } from '../../../src/cli/person/pause.ts';
import { resumeStep } from '../../../src/cli/render/next-steps.ts';
import { MemoryReader } from '../../support/memory-reader.ts';
import { recordingContext } from '../../support/recording-context.ts';
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
  it('sets the annotation, and reports upgrades in flight and how to resume', async () => {
    expect(await run(pauseCommand, [samplePolicy()])).toEqual({
      status: 0,
      stdout:
        'cvp/production in namespace logging: paused; 6 upgrades in flight run to completion. ' +
        'To resume: logfleet resume cvp/production\n',
      annotated: [{ key: 'logging/production', annotation: { name: 'logfleet.dev/paused', value: 'true' } }],
    });
  });

  it('uses singular forms, and names the spec if it pauses, too', async () => {
    const collectors = { ...rollingStatus.collectors!, inProgress: 1 };
    const { stdout } = await run(pauseCommand, [
      samplePolicy({ paused: true, status: { ...rollingStatus, collectors } }),
    ]);
    expect(stdout).toBe(
      'cvp/production in namespace logging: paused; 1 upgrade in flight runs to completion. ' +
        "To resume: remove 'paused: true' from the manifest, and logfleet resume cvp/production\n",
    );
  });

  it('writes nothing if the annotation is set', async () => {
    const { stdout, annotated } = await run(pauseCommand, [
      samplePolicy({ metadata: pausedMetadata, status: undefined }),
    ]);
    expect(annotated).toEqual([]);
    expect(stdout).toBe(
      'cvp/production in namespace logging: was already paused. ' + 'To resume: logfleet resume cvp/production\n',
    );
  });

  it('replaces a value that does not pause', async () => {
    const { annotated } = await run(pauseCommand, [
      samplePolicy({ metadata: { annotations: { 'logfleet.dev/paused': 'yes' } } }),
    ]);
    expect(annotated).toHaveLength(1);
  });
});

describe('the output of pause', () => {
  it('has the same flags, quoted for a shell', async () => {
    const context = recordingContext();
    const options = { dir: "it's mine", namespace: 'logging' };
    await pauseCommand('cvp/production', options, context, async () => new MemoryReader([samplePolicy()]));
    expect(context.stdout.text).toContain(
      "To resume: logfleet resume cvp/production --dir 'it'\\''s mine' -n logging\n",
    );
  });
});

describe('resume', () => {
  it('removes the annotation', async () => {
    expect(await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata })])).toEqual({
      status: 0,
      stdout: 'cvp/production in namespace logging: resumed.\n',
      annotated: [{ key: 'logging/production', annotation: { name: 'logfleet.dev/paused', value: undefined } }],
    });
  });

  it('reports a pause in the spec, and does not change it', async () => {
    const { stdout, status } = await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata, paused: true })]);
    expect(stdout).toContain('spec.paused in the manifest still pauses the resource');
    expect(status).toBe(1);
  });

  const pausedBy = (by: string) => {
    const message = `Paused by ${by}: no upgrade starts.`;
    const ready = { type: 'Ready', status: 'Unknown', reason: 'Paused', message, lastTransitionTime } as const;
    return { ...rollingStatus, conditions: [ready] };
  };

  it('mentions that everything is paused, and does not end this pause', async () => {
    const context = recordingContext();
    const options = { dir: 'policies', namespace: 'logging' };
    const reader = new MemoryReader([samplePolicy({ status: pausedBy('the ConfigMap logfleet-settings') })]);
    expect(await resumeCommand('cvp/production', options, context, async () => reader)).toBe(1);
    expect(context.stdout.text).toMatch(
      /but the whole operator is paused: Paused by the ConfigMap logfleet-settings: .* To resume: logfleet resume --all --dir policies\n$/,
    );
  });

  it('ends with 1 if the reader knows that everything is paused', async () => {
    const paused = samplePolicy({ metadata: pausedMetadata, status: pausedBy('the annotation logfleet.dev/paused') });
    const resume = async (cause: string | undefined) => {
      const reader = Object.assign(new MemoryReader([paused]), { pauseOfAll: () => ({ pausedBy: cause }) });
      const context = recordingContext();
      const status = await resumeCommand('cvp/production', {}, context, async () => reader);
      return { status, text: context.stdout.text };
    };
    expect(await resume('alice')).toMatchObject({
      status: 1,
      text: expect.stringContaining('Paused by alice. To resume'),
    });
    expect(await resume(undefined)).toMatchObject({ status: 0, text: expect.stringMatching(/: resumed\.\n$/) });
  });

  it('ends with 0 while the status still shows the ended pause', async () => {
    const status = pausedBy('the annotation logfleet.dev/paused');
    expect((await run(resumeCommand, [samplePolicy({ metadata: pausedMetadata, status })])).status).toBe(0);
  });

  it('writes nothing without the annotation', async () => {
    const { stdout, annotated } = await run(resumeCommand, [samplePolicy()]);
    expect(annotated).toEqual([]);
    expect(stdout).toBe('cvp/production in namespace logging: was not paused by annotation.\n');
  });
});

describe('an export', () => {
  it('is paused and resumed like a policy', async () => {
    const paused = await run(pauseCommand, [sampleExport()], 'sx/errors');
    expect(paused.stdout).toBe(
      'sx/errors in namespace logging: paused; 2 searches in flight run to completion. To resume: logfleet resume sx/errors\n',
    );
    const annotations = { 'logfleet.dev/paused': 'true' };
    const resumed = await run(resumeCommand, [sampleExport({ metadata: { annotations } })], 'sx/errors');
    expect(resumed).toMatchObject({
      stdout: 'sx/errors in namespace logging: resumed.\n',
      annotated: [{ key: 'logging/errors', annotation: { name: 'logfleet.dev/paused', value: undefined } }],
    });
  });
});

test('a complete export is not paused or resumed', async () => {
  const conditions = [
    { type: 'Complete', status: 'True' as const, reason: 'Exported', message: '', lastTransitionTime },
  ];
  const complete = sampleExport({ paused: true, status: { conditions } });
  expect(resumeStep(complete, {})).toBeUndefined();
  const pausing = run(pauseCommand, [complete], 'sx/errors');
  await expect(pausing).rejects.toMatchObject({
    code: 'cli.nothingToDo',
    message: expect.stringContaining('it is already complete'),
  });
});

describe('KIND/NAME', () => {
  it.each(['production', 'cvp', 'cvp/', '/production', 'cvp/a/b'])(
    '%s is refused, and the message says what to write',
    async (target) => {
      await expect(run(pauseCommand, [samplePolicy()], target)).rejects.toMatchObject({
        code: 'cli.usage',
        message: `'${target}' is not a resource; write KIND/NAME, such as cvp/production`,
      });
    },
  );

  it('of an unknown kind lists the kinds', async () => {
    await expect(run(pauseCommand, [samplePolicy()], 'pod/audit')).rejects.toMatchObject({
      message:
        "unknown kind 'pod'; write cvp (CollectorVersionPolicy) or sx (SearchExport) or sxs (SearchExportSchedule)",
    });
  });

  it('that does not exist is not found', async () => {
    const options = { dir: 'policies', namespace: 'logging' };
    const pausing = pauseCommand('cvp/production', options, recordingContext(), async () => new MemoryReader([]));
    await expect(pausing).rejects.toMatchObject({
      code: 'cli.notFound',
      message: expect.stringMatching(/To list the resources of this kind: logfleet get cvp -A --dir policies$/),
    });
  });
});

test.each([pauseCommand, resumeCommand])('reports that no process is running on the directory', async (command) => {
  const reader = new MemoryReader([samplePolicy({ metadata: pausedMetadata })]);
  reader.idleNote = async () => 'No process works on it.';
  const context = recordingContext();
  expect(await command('cvp/production', {}, context, async () => reader)).toBe(0);
  expect(context.stderr.text).toBe('No process works on it.\n');
});
