/** Tests `logfleet export` as a worker: with the files and variables that a Kubernetes Job gives to its pod. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { userIdOf } from '../../src/account/budgets.ts';
import { workerManifest } from '../../src/export/jobs/job-manifest.ts';
import { workerVariables } from '../../src/export/jobs/worker-environment.ts';
import { readReport } from '../../src/export/jobs/worker-report.ts';
import { exportOf } from '../unit/export/sample-view.ts';
import { test as base } from './support/end-to-end.ts';
import { logs, type Tenant } from './support/simulator.ts';

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-worker-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
});

/** Creates the files of a pod. Returns its environment and its arguments. */
function podIn(folder: string, { env }: Tenant, spec: object = {}) {
  const { LOGFLEET_BASE_URL: baseURL = '', LOGFLEET_ACCESS_ID: accessId = '', ...others } = env;
  const { LOGFLEET_ACCESS_KEY: accessKey = '', LOGFLEET_CA_FILE: caFile = '', ...rest } = others;
  const secret = join(folder, 'secrets', 'log-service');
  mkdirSync(secret, { recursive: true });
  mkdirSync(join(folder, 'claim'));
  const members = {
    baseURL,
    accessId,
    accessKey,
    ...(caFile === '' ? {} : { 'ca.crt': readFileSync(caFile, 'utf8') }),
  };
  for (const [key, value] of Object.entries(members)) writeFileSync(join(secret, key), `${value}\n`);
  const timeRange = { from: logs.from, to: logs.to };
  const destination = { persistentVolumeClaim: { claimName: 'audit' } };
  const resource = exportOf({ execution: { mode: 'Job' }, timeRange, destination, ...spec });
  writeFileSync(join(folder, 'export.json'), workerManifest(resource));
  const user = userIdOf({ serviceId: baseURL, user: accessId });
  return {
    args: ['export', 'export.json', '--log-format=json', '--volume=claim=claim'],
    report: () => readReport(readFileSync(join(folder, 'report'), 'utf8')),
    env: {
      ...rest,
      [workerVariables.report]: join(folder, 'report'),
      [workerVariables.secrets]: join(folder, 'secrets'),
      [workerVariables.user]: user,
      [workerVariables.workers]: '1',
      [workerVariables.index]: '0',
      [workerVariables.requestsPerSecond]: '4',
      [workerVariables.maxConcurrentRequests]: '8',
    },
  };
}

test('a worker exports with its share, and reports the manifest', async ({ tenant, start, folder }) => {
  const { args, env, report } = podIn(folder, tenant);
  const { status, stderr } = await (await start(args, { cwd: folder, env })).ended;
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  expect(report()).toMatchObject({
    ...{ end: 'complete', reason: 'Exported' },
    status: { manifest: { rows: logs.messages, complete: true }, progress: { rowsWritten: logs.messages } },
  });
});

test('a worker reports what a person must correct, with an exit status of its own', async ({
  tenant,
  start,
  folder,
}) => {
  const { args, env, report } = podIn(folder, tenant);
  rmSync(join(folder, 'secrets', 'log-service', 'accessKey'));
  const { status } = await (await start(args, { cwd: folder, env })).ended;
  expect(status).toBe(3);
  expect(report()).toMatchObject({ end: 'stalled', reason: 'SecretIncomplete' });
});

test('a worker with the Secret of another user sends nothing', async ({ tenant, start, folder }) => {
  const { args, env, report } = podIn(folder, tenant);
  const other = { ...env, [workerVariables.user]: 'other' };
  const { status } = await (await start(args, { cwd: folder, env: other })).ended;
  expect(status).toBe(3);
  expect(report()).toMatchObject({ end: 'stalled', reason: 'UserChanged' });
});
