/** Tests schedules whose manifests are in a directory. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { findCondition, reasons } from '../../../src/api/conditions.ts';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { openPlace } from '../../../src/cli/plan/plan-place.ts';
import { DirectoryView } from '../../../src/host/directory/directory-view.ts';
import { writeUserRequest } from '../../../src/host/directory/user-requests.ts';
import { MemoryExports } from '../../support/memory-exports.ts';
import { serviceOrigin } from '../../support/service-world.ts';
import { runPlan } from '../cli/plan-run.ts';
import { DirectoryWorld } from '../host/directory/directory-world.ts';

const secret = `apiVersion: v1
kind: Secret
metadata: {name: log-service, namespace: logging}
stringData: {baseURL: ${serviceOrigin}/api, accessId: simulator, accessKey: simulator-key}
`;
const schedule = ({
  spec = '',
  template = '',
  destination = 'volume: {name: exports}',
} = {}) => `apiVersion: logfleet.dev/v1alpha1
kind: SearchExportSchedule
metadata: {name: hourly, namespace: logging}
spec:
  schedule: 0 * * * *
  startTime: "2026-10-31T20:00:00"
${spec}
  template:
    spec:
      credentialsSecretRef: {name: log-service}
      query: _sourceCategory=*
      byReceiptTime: false
      destination: {${destination}}
${template}
`;

const logs = { from: '2026-10-31T20:00:00Z', to: '2026-11-01T00:00:00Z', messages: 100 };
const scenario = { builds: ['19.100-1'], logs };

async function openWorld(options: Parameters<typeof schedule>[0] = {}) {
  const { options: exports } = new MemoryExports({ places: { allowAmbientCredentials: true } });
  const world = new DirectoryWorld(scenario, exports);
  onTestFinished(() => world.close());
  world.write('secret.yaml', secret);
  world.write('schedule.yaml', schedule(options));
  await world.start();
  const found = () => world.host.resources('SearchExportSchedule').get({ namespace: 'logging', name: 'hourly' });
  const ready = () => findCondition(found()?.status?.conditions, 'Ready');
  const runs = (): readonly SearchExport[] => [...world.host.resources('SearchExport').list()];
  const untilReason = (reason: string) => world.until(() => ready()?.reason === reason, hourMs);
  return { world, found, ready, runs, untilReason };
}

describe('a schedule in a directory', () => {
  test('shows no run in a read-only view that the operator has deleted', async () => {
    const { world, runs, untilReason } = await openWorld({ spec: '  successfulRunsHistoryLimit: 0\n  maxActive: 1' });
    const { clock, random, directory } = world;
    expect(await world.until(() => runs().length > 0, hourMs)).toBe(true);
    const view = await DirectoryView.open({ directories: [directory], clock, random });
    const shown = () => [...view.resources('SearchExport').list()].map(({ metadata }) => metadata.name);
    expect(shown()).toHaveLength(1);
    expect(await untilReason(reasons.upToDate)).toBe(true);
    await clock.advance(minuteMs);
    expect(runs()).toEqual([]);
    await view.refresh();
    expect(shown()).toEqual([]);
  });

  test('is planned with the covered time that the directory stores', async () => {
    const { world, untilReason } = await openWorld();
    expect(await untilReason(reasons.upToDate)).toBe(true);
    await world.pass(10 * minuteMs);
    await world.stop();
    const folder = world.directory;
    const pendingRuns = async (flags: { readonly dir?: string }) => {
      const { stdout } = await runPlan({ folder, scenario, flags: { ...flags, output: 'json' }, open: openPlace });
      return JSON.parse(stdout).schedules[0].pendingRuns;
    };
    expect(await pendingRuns({ dir: folder })).toBe(0);
    expect(await pendingRuns({})).toBe(3);
  });

  test('names the directory in commands about failed runs', async () => {
    const { world, ready, untilReason } = await openWorld({ template: '      activeDeadlineSeconds: 1' });
    expect(await untilReason(reasons.runsFailed)).toBe(true);
    expect(ready()?.message).toContain(`logfleet retry sxs/hourly -n logging --dir ${world.directory}`);
  });

  test('reports that Kubernetes Jobs need a cluster, and exports without them after a retry', async () => {
    const template = '      execution: {mode: Job}';
    const destination = 's3: {bucket: logs, region: us-east-1}';
    const { world, ready, runs, untilReason } = await openWorld({ template, destination });
    expect(await untilReason(reasons.runStalled)).toBe(true);
    const [run] = runs();
    const stall = findCondition(run?.status?.conditions, 'Stalled');
    expect(stall?.reason).toBe(reasons.jobsNotAvailable);
    expect(stall?.message).toContain('need a cluster');
    expect(stall?.message).not.toContain('component');
    expect(ready()?.message).toContain(
      `logfleet get sx/${run?.metadata.name} -n logging --dir ${world.directory}. After changing spec.template, run: logfleet retry sxs/hourly -n logging --dir ${world.directory}`,
    );
    world.write('schedule.yaml', schedule({ destination }));
    await world.pass(minuteMs);
    const key = { namespace: 'logging', name: 'hourly' };
    await world.clock.during(
      writeUserRequest(world.directory, 'SearchExportSchedule', key, { 'logfleet.dev/requestedAt': 'now' }),
    );
    expect(await untilReason(reasons.upToDate)).toBe(true);
  });
});
