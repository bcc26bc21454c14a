import { describe, expect, it } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { pauseCommand, resumeCommand } from '../../../src/cli/pause.ts';

import { MemoryReader } from './memory-reader.ts';
import { recordingContext } from './recording-context.ts';
import { rollingStatus, samplePolicy } from './sample-policy.ts';

const pausedMetadata = { annotations: { 'logfleet.dev/paused': 'true' } };

async function run(
  command: typeof pauseCommand,
  policies: readonly CollectorVersionPolicy[],
  target = 'cvp/production',
) {
  const reader = new MemoryReader(policies);
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

  it('writes nothing when there is nothing to take away', async () => {
    const { stdout, annotated } = await run(resumeCommand, [samplePolicy()]);
    expect(annotated).toEqual([]);
    expect(stdout).toBe('cvp/production in namespace logging: was not paused by annotation.\n');
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
    await expect(run(pauseCommand, [samplePolicy()], 'sx/audit')).rejects.toMatchObject({
      message: "there is no kind 'sx'; write cvp (CollectorVersionPolicy)",
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
