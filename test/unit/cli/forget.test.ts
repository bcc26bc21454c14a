/** Tests `logfleet forget`, which removes deleted resources and runs of schedules from a directory (D4). */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordFiles } from '../../../src/host/directory/resource-records.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { sampleExport } from './sample-export.ts';
import { rollingStatus, samplePolicy } from './sample-policy.ts';
import { sampleSchedule } from './sample-schedule.ts';

const uid = '3f0c8e52-7f1c-4a3e-9d6b-0a1b2c3d4e5f';

async function retainedDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'logfleet-forget-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, '.logfleet'));
  const resource = samplePolicy({ status: rollingStatus, metadata: { uid } });
  await recordFiles.save({ directory, manifest: 'a.yaml', resource, retainedSince: new Date().toISOString() });
  return directory;
}

const forget = (directory: string, ...flags: readonly string[]) =>
  forgetResource('cvp/production', directory, ...flags);

async function forgetResource(target: string, directory: string, ...flags: readonly string[]) {
  const context = recordingContext();
  const status = await runProgram(['forget', target, '--dir', directory, ...flags], context);
  const requests = await readdir(join(directory, '.logfleet/requests')).catch(() => []);
  return { status, requests, stdout: context.stdout.text, stderr: context.stderr.text };
}

test('requests that the state of a deleted resource is discarded, and reports when that happens', async () => {
  const directory = await retainedDirectory();
  expect(await forget(directory)).toEqual({
    status: 0,
    requests: ['CollectorVersionPolicy_logging_production.json'],
    stdout: `cvp/production in namespace logging: the next logfleet run ${directory} discards the state. A new manifest with this name starts without state.\n`,
    stderr: '',
  });
});

test('requests that a run of a schedule is deleted, although the run has no manifest', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'logfleet-forget-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, '.logfleet'));
  const { name, namespace } = sampleSchedule.metadata;
  await writeFile(join(directory, 'a.json'), JSON.stringify({ ...sampleSchedule, metadata: { name, namespace } }));
  const schedule = { ...sampleSchedule, metadata: { ...sampleSchedule.metadata, uid } };
  const owner = { kind: schedule.kind, name, uid };
  const run = sampleExport({ metadata: { name: 'errors-1', owner } });
  for (const resource of [schedule, run]) await recordFiles.save({ directory, manifest: 'a.json', resource });
  expect(await forgetResource('sx/errors-1', directory)).toEqual({
    status: 0,
    requests: ['SearchExport_logging_errors-1.json'],
    stdout: `sx/errors-1 in namespace logging: the next logfleet run ${directory} deletes this run of sxs/errors. The run's files are kept.\n`,
    stderr: '',
  });
});

test('takes the directory from an environment variable', async () => {
  const context = { ...recordingContext(), env: { LOGFLEET_DIR: await retainedDirectory() } };
  expect(await runProgram(['forget', 'cvp/production'], context)).toBe(0);
});

test('changes nothing without retained state', async () => {
  const directory = await retainedDirectory();
  expect(await forget(directory, '-n', 'elsewhere')).toMatchObject({ status: 1, requests: [], stdout: '' });
});

test('changes nothing while the manifest exists', async () => {
  const directory = await retainedDirectory();
  const { spec, metadata, apiVersion, kind } = samplePolicy();
  const manifest = { apiVersion, kind, spec, metadata: { name: metadata.name, namespace: metadata.namespace } };
  await writeFile(join(directory, 'a.json'), JSON.stringify(manifest));
  expect(await forget(directory)).toMatchObject({
    status: 1,
    requests: [],
    stderr: expect.stringContaining('delete the manifest'),
  });
});

test('needs a directory', async () => {
  const context = recordingContext();
  expect(await runProgram(['forget', 'cvp/production'], context)).toBe(2);
});
