/** Tests `logfleet export` as a worker, with the files and environment variables that a Kubernetes Job provides. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { workerVariables } from '../../src/export/jobs/worker-environment.ts';
import { expectExported } from './support/exports.ts';
import { logs } from './support/simulator.ts';
import { test, testWorkerCrashes, twoWorkers } from './support/worker-crashes.ts';
import type { WorkerPods } from './support/worker-pods.ts';

vi.setConfig({ maxConcurrency: 8 });

test.concurrent('a worker exports with its share, and reports the manifest', async ({ pods: podsOf }) => {
  const pods = podsOf();
  const { status, stderr } = await (await pods.start()).ended;
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  expect(pods.report()).toMatchObject({
    ...{ end: 'complete', reason: 'Exported' },
    status: { manifest: { rows: logs.messages, complete: true }, progress: { rowsWritten: logs.messages } },
  });
});

test.concurrent('a worker reports what a user must correct, with a separate exit status', async ({ pods: podsOf }) => {
  const pods = podsOf();
  rmSync(join(pods.folder, 'secrets', 'log-service', 'accessKey'));
  const { status } = await (await pods.start()).ended;
  expect(status).toBe(3);
  expect(pods.report()).toMatchObject({ end: 'stalled', reason: 'SecretIncomplete' });
});

test.concurrent('a worker with the Secret of another user sends nothing', async ({ pods: podsOf }) => {
  const pods = podsOf();
  const { status } = await (await pods.start(0, { [workerVariables.user]: 'other' })).ended;
  expect(status).toBe(3);
  expect(pods.report()).toMatchObject({ end: 'stalled', reason: 'UserChanged' });
});

function writersOf(pods: WorkerPods): number {
  const { url = '' } = (pods.report()?.status['manifest'] ?? {}) as { readonly url?: string };
  const { intervals } = JSON.parse(readFileSync(new URL(url), 'utf8')) as {
    readonly intervals: readonly { readonly files: readonly { readonly name: string }[] }[];
  };
  const names = intervals.flatMap(({ files }) => files.map(({ name }) => name));
  return new Set(names.map((name) => name.split('-').slice(-3, -1).join())).size;
}

test.concurrent('two workers export every row once, and both end with success', async ({ pods: podsOf }) => {
  const pods = podsOf(twoWorkers);
  const programs = await Promise.all([pods.start(0), pods.start(1)]);
  const ends = await Promise.all(programs.map(({ ended }) => ended));
  expect(ends.map(({ status }) => status)).toEqual([0, 0]);
  for (const index of [0, 1]) expect(pods.report(index)).toMatchObject({ end: 'complete', reason: 'Exported' });
  await expectExported(pods.place, String(pods.report()?.status['fingerprint']));
  expect(writersOf(pods)).toBe(2);
});

testWorkerCrashes([[1, 'export.commit:after:1']]);
