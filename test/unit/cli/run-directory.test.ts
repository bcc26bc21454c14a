/** Tests that `logfleet run` ends on a directory without resources. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { runOnDirectories } from '../../../src/cli/run/run-directory.ts';
import { recordingContext } from '../../support/recording-context.ts';

const secret = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "log-service", "namespace": "logging"}}';

test.each([
  ['is empty', {}],
  ['has only a Secret', { 'secret.json': secret }],
])('a directory that %s ends the run with exit status 2', async (_, files) => {
  const directory = await mkdtemp(join(tmpdir(), 'logfleet-run-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  const context = recordingContext();
  expect(await runOnDirectories([directory], { logLevel: 'info' }, context, new PrometheusMetrics())).toBe(2);
  expect(context.stdout.text).toBe('');
  expect(context.stderr.text).toBe(
    `logfleet run: no logfleet resources in ${directory}, so nothing was done: restore the manifests, or use another directory\n`,
  );
});
