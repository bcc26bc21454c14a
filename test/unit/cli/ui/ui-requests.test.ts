/**
 * Tests that `logfleet ui` sends only list and watch requests for logfleet's resources, and shows the current context.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import { ClusterReader } from '../../../../src/cli/resources/cluster-access.ts';
import { uiCommand } from '../../../../src/cli/ui/ui.ts';
import { resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { MemoryApiServer } from '../../../support/memory-api-server.ts';
import { recordingContext } from '../../../support/recording-context.ts';
import { exampleResources } from '../../../support/shown-resources.ts';

test('logfleet ui only lists and watches the three kinds, in its namespace, and names the current context', async () => {
  const server = new MemoryApiServer({ clock: systemClock, random: seededRandom(1) });
  for (const { kind, metadata, spec, apiVersion } of exampleResources(Date.now())) {
    const { name, namespace } = metadata;
    server.create(resourcePath(kind, namespace), { apiVersion, kind, metadata: { name, namespace }, spec });
  }
  const api = server.client('ui');
  const options = { context: 'dev', defaultNamespace: 'web', clock: systemClock, random: seededRandom(2) };
  const context = recordingContext();
  const open = async () => new ClusterReader({ api, ...options, signal: context.signal });
  const html = async () => '<script type="application/json" id="start">';
  const ended = uiCommand({}, context, { open, clock: systemClock, html });
  await expect.poll(() => server.watches.size).toBe(3);
  // The command may print its address only after it has begun to watch.
  await expect.poll(() => context.stdout.text).toContain('\n');
  const list = await fetch(`${context.stdout.text.trim()}api/list?limit=10`).then((response) => response.text());
  expect(JSON.parse(list).rows.map(({ id }: { readonly id: string }) => id)).toEqual([
    'sxs/web/access-log',
    'sxs/web/clickstream',
  ]);
  const get = (path: string) => fetch(`${context.stdout.text.trim()}${path}`).then((response) => response.text());
  expect(await get('')).toContain('"place":"context dev"');
  const { commands } = JSON.parse(await get('api/resource?id=sxs/web/access-log'));
  expect(commands.map(({ command }: { readonly command: string }) => command)).toContain(
    'logfleet pause sxs/access-log --context dev -n web',
  );
  server.patch(resourcePath('SearchExportSchedule', 'web', 'access-log'), { spec: { paused: true } });
  context.stop('SIGTERM');
  expect(await ended).toBe(0);
  const asked = new Set(server.requests.map(({ method, path }) => `${method} ${path}`));
  const collections = (['CollectorVersionPolicy', 'SearchExport', 'SearchExportSchedule'] as const).map((kind) =>
    resourcePath(kind, 'web'),
  );
  expect([...asked].sort()).toEqual(
    ['GET', 'WATCH'].flatMap((method) => collections.map((path) => `${method} ${path}`)),
  );
});
