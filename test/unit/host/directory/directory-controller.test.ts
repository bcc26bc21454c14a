import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { noMetrics } from '../../../../src/base/metrics.ts';
import { systemRandom } from '../../../../src/base/random.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import { finished } from '../../../../src/controller/reconciler.ts';
import type { DirectoryHost } from '../../../../src/host/directory/directory-host.ts';
import { get, policy, Workplace } from '../../../support/workplace.ts';

function echo(host: DirectoryHost) {
  const source = host.resources('CollectorVersionPolicy');
  const seen: string[] = [];
  const controller = new Controller({
    name: 'echo',
    source,
    workers: 2,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    metrics: noMetrics,
    leadership: host.leadership,
    reconciler: {
      reconcile: async (key) => {
        const resource = source.get(key);
        seen.push(`${key.name} ${resource?.spec.target.version}`);
        const status = { targetVersion: resource?.spec.target.version } as never;
        if (resource) await host.writeStatus('CollectorVersionPolicy', { ...resource, status });
        return finished;
      },
    },
  });
  const stop = new AbortController();
  const ended = controller.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return { controller, seen };
}

test('a run on a directory ends although its own writes of status are changes', async () => {
  const place = new Workplace();
  place.write('web.yaml', policy('web'));
  place.write('api.yaml', policy('api'));
  const host = await place.open({ clock: systemClock });
  const { controller, seen } = echo(host);
  await controller.whenFinished();
  expect(get(host, 'web').status?.targetVersion).toBe('19.500-1');
  expect(seen.length).toBe(4);
});

test('a manifest that changes is reconciled again', async () => {
  const place = new Workplace();
  place.write('web.yaml', policy('web'));
  const host = await place.open({ clock: systemClock });
  const { controller } = echo(host);
  await controller.whenFinished();
  const written = new Promise<void>((resolve) => {
    const source = host.resources('CollectorVersionPolicy');
    source.subscribe((key) => {
      if (source.get(key)?.status?.targetVersion === '19.501-1') resolve();
    });
  });
  place.write('web.yaml', policy('web', '19.501-1'));
  await written;
  await controller.whenFinished();
  expect(get(host, 'web').status?.targetVersion).toBe('19.501-1');
});
