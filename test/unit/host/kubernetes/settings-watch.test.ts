import { describe, expect, test } from 'vitest';
import { settingsName } from '../../../../src/api/operator-settings.ts';
import type { KubernetesHost } from '../../../../src/host/kubernetes/kubernetes-host.ts';
import { createPolicy, createWorld, hostOf, type KubernetesWorld, policies } from './world.ts';

const namespace = 'logfleet-system';
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const path = `${configMaps}/${settingsName}`;
const place = `the ConfigMap ${settingsName} in namespace ${namespace}`;
/** Time limit in ms within which a broken or silent watch must be replaced. */
const healMs = 30_000;

function write(world: KubernetesWorld, data: object | undefined, name = settingsName): void {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...(data && { data }) };
  world.server.create(configMaps, object);
}

function refuse(
  world: KubernetesWorld,
  status: number,
  concerned = (collection: string) => collection === 'v1/configmaps',
) {
  world.server.onRequest = ({ collection }) =>
    concerned(collection) ? { kind: 'status', status, when: 'before' } : undefined;
}

async function started(
  world = createWorld(),
): Promise<{ readonly world: KubernetesWorld; readonly host: KubernetesHost }> {
  const host = hostOf(world);
  host.start();
  await world.clock.advance(1_000);
  return { world, host };
}

describe('values of the ConfigMap', () => {
  test.each([
    ['true', place],
    [' true\n', place],
    ['yes', `${place}, whose paused is "yes"`],
    ['False', `${place}, whose paused is "False"`],
  ])('paused: %j pauses', async (paused, pausedBy) => {
    const world = createWorld();
    write(world, { paused });
    const { host } = await started(world);
    expect(host.settings()).toEqual({ pausedBy });
  });

  test.each([[{ paused: 'false' }], [{ paused: '' }], [{ paused: ' false\n' }], [{}], [undefined]])(
    '%j does not',
    async (data) => {
      const world = createWorld();
      write(world, data);
      const { host } = await started(world);
      expect(host.settings()).toEqual({});
    },
  );

  test('other ConfigMaps have no effect', async () => {
    const world = createWorld();
    write(world, { paused: 'true' }, 'other-settings');
    world.server.create('/api/v1/namespaces/elsewhere/configmaps', {
      metadata: { name: settingsName },
      data: { paused: 'true' },
    });
    const { host } = await started(world);
    expect(host.settings().pausedBy).toBeUndefined();
  });
});

describe('changes', () => {
  test('changes call the listeners once each, within a second', async () => {
    const { world, host } = await started();
    const heard: boolean[] = [];
    const unsubscribe = host.subscribeSettings(() => heard.push(host.settings().pausedBy !== undefined));
    write(world, { paused: 'true' });
    await world.clock.advance(1_000);
    world.server.patch(path, { data: { note: 'incident 12' } });
    await world.clock.advance(1_000);
    expect(heard).toEqual([true]);
    world.server.patch(path, { data: { paused: 'false' } });
    await world.clock.advance(1_000);
    world.server.patch(path, { data: { paused: 'true' } });
    await world.clock.advance(1_000);
    world.server.remove(path);
    await world.clock.advance(1_000);
    expect(heard).toEqual([true, false, true, false]);
    unsubscribe();
    write(world, { paused: 'true' });
    await world.clock.advance(1_000);
    expect(heard).toHaveLength(4);
    expect(host.settings().pausedBy).toBeDefined();
  });

  test.each([['drop'], ['cut'], ['silence'], ['badLine'], ['expired']] as const)(
    'survive an event with the fault %s',
    async (kind) => {
      const { world, host } = await started();
      let struck = false;
      world.server.onWatchEvent = ({ event }) => {
        if (struck || event.collection !== 'v1/configmaps') return undefined;
        struck = true;
        return { kind };
      };
      write(world, { paused: 'true' });
      await world.clock.advance(kind === 'drop' ? 11 * 60_000 : healMs);
      expect(struck).toBe(true);
      expect(host.settings().pausedBy).toBeDefined();
    },
  );

  test('applies changes made during an outage afterwards, and the last settings until then', async () => {
    const world = createWorld();
    write(world, { paused: 'true' });
    const { host } = await started(world);
    refuse(world, 503);
    for (const watch of [...world.server.watches]) watch.break(new Error('read ECONNRESET'));
    await world.clock.advance(60_000);
    world.server.remove(path);
    await world.clock.advance(60_000);
    expect(host.settings().pausedBy).toBeDefined();
    world.server.onRequest = () => undefined;
    await world.clock.advance(healMs);
    expect(host.settings().pausedBy).toBeUndefined();
  });
});

describe('at the start', () => {
  test('everything is paused until the settings are known, and no listener is called before', async () => {
    const world = createWorld();
    createPolicy(world, 'production');
    const host = hostOf(world);
    expect(host.settings()).toEqual({ pausedBy: 'settings that have not been read yet' });
    world.server.onRequest = ({ collection }) =>
      collection === 'v1/configmaps' ? { kind: 'delay', delayMs: 5_000 } : undefined;
    const reported: boolean[] = [];
    host.resources(policies).subscribe(() => reported.push(host.settings().pausedBy !== undefined));
    host.start();
    await world.clock.advance(4_000);
    expect(reported).toEqual([]);
    await world.clock.advance(4_000);
    expect(reported).toEqual([false]);
  });

  test('follows policies while the settings cannot be read, and pauses them', async () => {
    const world = createWorld();
    createPolicy(world, 'production');
    refuse(world, 503);
    const { host } = await started(world);
    expect(host.unready()).toEqual([]);
    expect(host.settings().pausedBy).toBeDefined();
    world.server.onRequest = () => undefined;
    await world.clock.advance(10_000);
    expect(host.settings().pausedBy).toBeUndefined();
  });

  test('settings that must not be read pause nothing, and apply once reading is permitted', async () => {
    const world = createWorld();
    write(world, { paused: 'true' });
    refuse(world, 403);
    const { host } = await started(world);
    expect(host.settings()).toEqual({});
    await world.clock.advance(600_000);
    expect({ paused: host.settings().pausedBy !== undefined, healthy: host.healthy() }).toEqual({
      paused: false,
      healthy: true,
    });
    world.server.onRequest = () => undefined;
    await world.clock.advance(10_000);
    expect(host.settings().pausedBy).toBeDefined();
  });

  test('a host can be stopped before it has read the settings', async () => {
    const world = createWorld();
    world.server.onRequest = ({ collection }) =>
      collection === 'v1/configmaps' ? { kind: 'stall', when: 'before' } : undefined;
    const host = hostOf(world);
    host.start();
    await world.clock.advance(1_000);
    let stopped = false;
    const stopping = host.stop().then(() => {
      stopped = true;
    });
    await world.clock.run(() => stopped);
    await stopping;
    expect(stopped).toBe(true);
  });
});

test('after rights are withdrawn the last settings stay', async () => {
  const world = createWorld();
  write(world, { paused: 'true' });
  const { host } = await started(world);
  refuse(world, 403);
  for (const watch of [...world.server.watches]) watch.end();
  await world.clock.advance(120_000);
  expect(host.settings().pausedBy).toBeDefined();
});
