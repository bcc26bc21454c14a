/** Tests that the resource cache keeps up with the API server even if some requests fail. */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import type { LogfleetError } from '../../../../src/base/errors.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { minuteMs } from '../../../../src/base/time-units.ts';
import { ApiClient } from '../../../../src/host/kubernetes/api-client.ts';
import { objectPath, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import type { KubernetesHost } from '../../../../src/host/kubernetes/kubernetes-host.ts';
import { decodeListPage, Reflector } from '../../../../src/host/kubernetes/reflector.ts';
import { ResourceCache } from '../../../../src/host/kubernetes/resource-cache.ts';
import { decodeResource } from '../../../../src/host/kubernetes/resource-decoding.ts';
import { writeStatus } from '../../../../src/host/kubernetes/resource-writes.ts';
import type { MemoryApiServer, RequestFault } from '../../../support/memory-api-server.ts';
import type { WatchFault } from '../../../support/memory-watch.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import {
  clientOf,
  createPolicy,
  createWorld,
  hostOf,
  type KubernetesWorld,
  policies,
  retarget,
  surroundings,
} from './world.ts';

const healMs = 30_000;
const plural = 'collectorversionpolicies';
const key = { namespace: 'logging', name: 'production' };

function targetOf(host: KubernetesHost, name = 'production', namespace = 'logging'): string | undefined {
  return host.resources(policies).get({ namespace, name })?.spec.target.version;
}

async function followed(
  namespaces: 'all' | readonly string[] = 'all',
): Promise<{ world: KubernetesWorld; host: KubernetesHost }> {
  const world = createWorld();
  createPolicy(world, 'production');
  const host = hostOf(world, namespaces);
  host.start();
  await world.clock.advance(1_000);
  return { world, host };
}

test('lists resources, then follows changes without delay', async () => {
  const { world, host } = await followed();
  expect(host.unready()).toEqual([]);
  expect(targetOf(host)).toBe('19.500-1');
  retarget(world, 'production', '19.501-1');
  createPolicy(world, 'second');
  await world.clock.advance(10);
  expect(targetOf(host)).toBe('19.501-1');
  expect([...host.resources(policies).list()].map(({ metadata }) => metadata.name)).toEqual(['production', 'second']);
  world.server.remove(resourcePath(policies, 'logging', 'second'));
  await world.clock.advance(10);
  expect(host.resources(policies).get({ namespace: 'logging', name: 'second' })).toBeUndefined();
});

test('keeps only the needed metadata', async () => {
  const { host } = await followed();
  const { metadata } = host.resources(policies).get(key) as CollectorVersionPolicy;
  expect(Object.keys(metadata).sort()).toEqual(
    ['annotations', 'creationTimestamp', 'generation', 'name', 'namespace', 'resourceVersion', 'uid'].sort(),
  );
  expect(metadata.annotations).toEqual({ note: 'kept' });
});

test('is not ready before everything has been listed', async () => {
  const world = createWorld();
  const host = hostOf(world, ['logging', 'audit']);
  world.server.onRequest = ({ namespace }) => (namespace === 'audit' ? { kind: 'stall', when: 'before' } : undefined);
  host.start();
  await world.clock.advance(5_000);
  expect(host.resources(policies).synced()).toBe(false);
  world.server.onRequest = () => undefined;
  await world.clock.advance(healMs);
  expect(host.unready()).toEqual([]);
});

const watchFaults: readonly [string, (server: MemoryApiServer) => void][] = [
  ['ended by the server', (server) => each(server, 'end')],
  ['reset', (server) => each(server, 'reset')],
  ['silent', (server) => each(server, 'silence')],
  ['answered as too old', (server) => each(server, 'expire')],
  [
    'reset, and too old to continue',
    (server) => {
      server.compact();
      each(server, 'reset');
    },
  ],
];

function each(server: MemoryApiServer, what: 'end' | 'reset' | 'silence' | 'expire'): void {
  for (const watch of server.watches) {
    if (what === 'reset') watch.break(new Error('read ECONNRESET'));
    else watch[what]();
  }
}

test.each(watchFaults)('replaces a watch that is %s within 30 s', async (_name, strike) => {
  const { world, host } = await followed();
  strike(world.server);
  await world.clock.advance(10);
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(healMs);
  expect(targetOf(host)).toBe('19.501-1');
});

const eventFaults: readonly WatchFault[] = [
  { kind: 'cut' },
  { kind: 'silence' },
  { kind: 'badLine' },
  { kind: 'expired' },
  { kind: 'delay', delayMs: 20_000 },
];

test.each(eventFaults)('recovers within 30 s from a watch event with the fault $kind', async (fault) => {
  const { world, host } = await followed();
  let struck = false;
  world.server.onWatchEvent = () => {
    if (struck) return undefined;
    struck = true;
    return fault;
  };
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(healMs);
  expect(struck).toBe(true);
  expect(targetOf(host)).toBe('19.501-1');
});

test('reads a lost change with the list that is sent every ten minutes', async () => {
  const { world, host } = await followed();
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(60_000);
  expect(targetOf(host)).toBe('19.500-1');
  await world.clock.advance(11 * 60_000);
  expect(targetOf(host)).toBe('19.501-1');
});

const outages: readonly RequestFault[] = [
  { kind: 'status', status: 401, when: 'before' },
  { kind: 'status', status: 403, when: 'before' },
  { kind: 'status', status: 410, when: 'before' },
  { kind: 'status', status: 429, when: 'before', retryAfterSeconds: 3 },
  { kind: 'status', status: 500, when: 'before' },
  { kind: 'status', status: 503, when: 'after', retryAfterSeconds: 86_400 },
  { kind: 'reset', when: 'before' },
  { kind: 'reset', when: 'after' },
  { kind: 'stall', when: 'before' },
];

test.each(outages)('recovers within 40 s after an hour of $kind $status $when on lists and watches', async (fault) => {
  const { world, host } = await followed();
  world.server.onRequest = () => fault;
  each(world.server, 'reset');
  await world.clock.advance(3_600_000);
  retarget(world, 'production', '19.501-1');
  expect(host.healthy()).toBe(true);
  world.server.onRequest = () => undefined;
  await world.clock.advance(40_000);
  expect(targetOf(host)).toBe('19.501-1');
});

test('sends few requests during an hour of refusals', async () => {
  const { world } = await followed();
  world.server.onRequest = ({ collection }) =>
    collection.startsWith('logfleet.dev') ? { kind: 'status', status: 403, when: 'before' } : undefined;
  each(world.server, 'reset');
  const before = world.server.requests.length;
  await world.clock.advance(3_600_000);
  const asked = world.server.requests.slice(before).filter(({ path }) => path.includes('logfleet.dev'));
  expect(asked.length).toBeLessThan(3_600_000 / 4_000);
});

test('an unreadable event does not block later events', async () => {
  const { world, host } = await followed();
  const path = resourcePath(policies, 'logging');
  world.server.create(path, { metadata: { name: 'without-spec' } });
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(healMs);
  expect(targetOf(host)).toBe('19.501-1');
});

test('reads a list in pages, and in one request after a page expired', async () => {
  const world = createWorld();
  for (let number = 0; number < 1_200; number++) createPolicy(world, `policy-${number}`);
  const lists: (number | undefined)[] = [];
  const host = hostOf(world);
  world.server.onRequest = ({ method, collection }) => {
    if (method === 'GET' && collection.startsWith('logfleet.dev')) world.server.compact();
    return undefined;
  };
  host.start();
  await world.clock.advance(5_000);
  for (const { method, path, status } of world.server.requests) {
    if (method === 'GET' && path === resourcePath(policies, undefined)) lists.push(status);
  }
  expect([...host.resources(policies).list()]).toHaveLength(1_200);
  expect(lists).toEqual([200, 410, 200]);
});

test('a list whose continue token is empty has no further page', () => {
  const list = { metadata: { resourceVersion: '7', continue: '' }, items: [] };
  expect(decodeListPage(list, '/apis')).toEqual({ items: [], resourceVersion: '7' });
});

test('a watch whose version is too old leads to a list immediately', async () => {
  const { world } = await followed();
  const lists = () =>
    world.server.requests.filter(({ method, path }) => method === 'GET' && path.endsWith(`/${plural}`));
  const before = lists().length;
  each(world.server, 'expire');
  await world.clock.advance(300);
  expect(lists().length).toBe(before + 1);
});

test('a failed page is requested again, and earlier pages stay', async () => {
  const world = createWorld();
  for (let number = 0; number < 1_200; number++) createPolicy(world, `policy-${number}`);
  let lists = 0;
  world.server.onRequest = ({ method, collection, name }) => {
    if (method !== 'GET' || name !== undefined || !collection.startsWith('logfleet.dev')) return undefined;
    lists++;
    return lists === 2 ? { kind: 'reset', when: 'before' } : undefined;
  };
  const host = hostOf(world);
  host.start();
  await world.clock.advance(5_000);
  expect([...host.resources(policies).list()]).toHaveLength(1_200);
  expect(lists).toBe(4);
});

test('reports a resource that was created again as a deletion and an addition, even after a list', async () => {
  const { world, host } = await followed();
  const seen: (string | undefined)[] = [];
  const source = host.resources(policies);
  source.subscribe((changed) => seen.push(source.get(changed)?.metadata.uid));
  const first = source.get(key)?.metadata.uid;
  world.server.onWatchEvent = () => ({ kind: 'drop' });
  world.server.remove(resourcePath(policies, 'logging', 'production'));
  const second = createPolicy(world, 'production').metadata.uid;
  await world.clock.advance(11 * 60_000);
  expect(second).not.toBe(first);
  expect(seen).toEqual([undefined, second]);
});

test('a listener that throws stops neither other listeners nor later changes', async () => {
  const { world, host } = await followed();
  let heard = 0;
  host.resources(policies).subscribe(() => {
    throw new Error('a listener of the test');
  });
  const unsubscribe = host.resources(policies).subscribe(() => {
    heard++;
  });
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(10);
  retarget(world, 'production', '19.502-1');
  await world.clock.advance(10);
  expect(heard).toBe(2);
  unsubscribe();
  retarget(world, 'production', '19.503-1');
  await world.clock.advance(10);
  expect(heard).toBe(2);
  expect(targetOf(host)).toBe('19.503-1');
});

test('follows each namespace of the list separately, and no other namespace', async () => {
  const { world, host } = await followed(['logging', 'audit']);
  createPolicy(world, 'production', 'audit');
  createPolicy(world, 'production', 'elsewhere');
  await world.clock.advance(11 * 60_000);
  expect([...host.resources(policies).list()].map(({ metadata }) => metadata.namespace)).toEqual(['logging', 'audit']);
  world.server.remove(resourcePath(policies, 'audit', 'production'));
  await world.clock.advance(11 * 60_000);
  expect([...host.resources(policies).list()].map(({ metadata }) => metadata.namespace)).toEqual(['logging']);
  const paths = world.server.requests
    .map(({ path }) => path)
    .filter((path) => path.includes('collectorversionpolicies'));
  expect(new Set(paths)).toEqual(new Set([resourcePath(policies, 'logging'), resourcePath(policies, 'audit')]));
});

test('an idle operator sends only watches, lease renewals, and a list every ten minutes', async () => {
  const { world } = await followed();
  await world.clock.advance(60_000);
  const before = world.server.requests.length;
  await world.clock.advance(3_600_000);
  const counts = new Map<string, number>();
  for (const { method, path } of world.server.requests.slice(before)) {
    const what = `${method} ${path}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const collections = [resourcePath(policies, undefined), objectPath('configmaps', 'logfleet-system')];
  expect([...counts.keys()].sort()).toEqual(
    [
      ...collections.flatMap((collection) => [`GET ${collection}`, `WATCH ${collection}`]),
      `PUT /apis/coordination.k8s.io/v1/namespaces/logfleet-system/leases/logfleet-operator`,
    ].sort(),
  );
  for (const collection of collections) {
    expect(counts.get(`GET ${collection}`)).toBeLessThanOrEqual(7);
    expect(counts.get(`WATCH ${collection}`)).toBeLessThanOrEqual(3_600 / 20 + 7);
  }
});

describe('kinds', () => {
  const listed = (world: KubernetesWorld, plural: string) =>
    world.server.requests.filter(({ path }) => path.startsWith(`/apis/logfleet.dev/v1alpha1/${plural}`));

  test('neither lists nor awaits kinds that no code reads', async () => {
    const { world, host } = await followed();
    expect(host.unready()).toEqual([]);
    expect(listed(world, plural)).not.toEqual([]);
    expect(listed(world, 'searchexports')).toEqual([]);
  });

  test('kinds with a later reader are followed from then on', async () => {
    const { world, host } = await followed();
    world.server.create(resourcePath('SearchExport', 'logging'), {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'SearchExport',
      metadata: { name: 'errors' },
      spec: { query: 'error' },
    });
    const source = host.resources('SearchExport');
    expect([source.synced(), host.unready().length]).toEqual([false, 1]);
    await world.clock.advance(1_000);
    expect(source.get({ namespace: 'logging', name: 'errors' })?.spec.query).toBe('error');
    expect([source.synced(), host.unready().length]).toEqual([true, 0]);
    world.server.patch(resourcePath('SearchExport', 'logging', 'errors'), { spec: { query: 'warning' } });
    await world.clock.advance(10);
    expect(source.get({ namespace: 'logging', name: 'errors' })?.spec.query).toBe('warning');
    await world.clock.during(host.stop());
  });

  test('kinds that the cluster does not know are named with a remedy until it knows them', async () => {
    const { world, host } = await followed();
    let status = 404;
    world.server.onRequest = ({ collection }) =>
      collection.endsWith('searchexports') && status > 0 ? { kind: 'status', status, when: 'before' } : undefined;
    host.resources('SearchExport');
    expect(host.unready()).toEqual(['searchexports have not been listed yet']);
    await world.clock.advance(minuteMs);
    expect([host.unready().length, host.healthy()]).toEqual([1, true]);
    expect(host.unready()).toEqual([
      'the cluster does not have the resource type searchexports: install the CRDs with `logfleet crds | kubectl apply -f -`',
    ]);
    status = 403;
    await world.clock.advance(minuteMs);
    expect(host.unready()).toEqual([
      expect.stringMatching(
        /^searchexports have not been listed yet: .* with 403.*: this permission must be granted with RBAC$/,
      ),
    ]);
    status = 0;
    await world.clock.advance(minuteMs);
    expect(host.unready()).toEqual([]);
    await world.clock.during(host.stop());
  });
});

test('a cache of several namespaces is complete after the last list, even if this list is empty', async () => {
  const cache = new ResourceCache<CollectorVersionPolicy>(['logging', 'other'], silentLogger);
  let isComplete = false;
  void cache.whenSynced().then(() => {
    isComplete = true;
  });
  const { host } = await followed();
  cache.replace('logging', [...host.resources(policies).list()]);
  await Promise.resolve();
  expect([cache.synced(), isComplete]).toEqual([false, false]);
  cache.replace('other', []);
  await Promise.resolve();
  expect([cache.synced(), isComplete]).toEqual([true, true]);
});

type ReflectorOptions = ConstructorParameters<typeof Reflector<CollectorVersionPolicy>>[0];

function reflectorOf(world: KubernetesWorld, options: Partial<ReflectorOptions> = {}) {
  const cache = new ResourceCache<CollectorVersionPolicy>([undefined], silentLogger);
  const [client, path] = [clientOf(world), resourcePath(policies, undefined)];
  const decode = (value: unknown) => decodeResource(policies, value);
  const all = { ...surroundings(world), client, path, scope: undefined, cache, decode, ...options };
  return { cache, reflector: new Reflector<CollectorVersionPolicy>(all) };
}

test('a watch that reports no change until its end is not a failure', async () => {
  const world = createWorld();
  const failures: unknown[] = [];
  const { reflector } = reflectorOf(world, { onFailure: (error) => failures.push(error) });
  void reflector.run(new AbortController().signal);
  await world.clock.advance(5 * minuteMs);
  expect(failures).toEqual([]);
});

test('a failure that lasts is logged when it begins, when its message changes, and when it ends', async () => {
  const world = createWorld();
  const log = new RecordingLogger();
  const { reflector } = reflectorOf(world, { log });
  const logged = () => log.lines.splice(0).filter(({ level }) => level !== 'debug');
  let status: number | undefined = 403;
  world.server.onRequest = () => (status === undefined ? undefined : { kind: 'status', status, when: 'before' });
  const duringStatus = async (next: number | undefined) => {
    status = next;
    await world.clock.advance(5 * minuteMs);
    return logged().map(({ level, fields }) => [level, (fields.error as LogfleetError | undefined)?.code]);
  };
  void reflector.run(new AbortController().signal);
  expect(await duringStatus(403)).toEqual([['warn', 'host.forbidden']]);
  expect(await duringStatus(404)).toEqual([['warn', 'host.gone']]);
  expect(await duringStatus(undefined)).toEqual([['info', undefined]]);
  // First the watches fail, and then the lists.
  const forbidden = ['warn', 'host.forbidden'];
  expect(await duringStatus(403)).toEqual([forbidden, forbidden]);
});

test('a watch that keeps failing is logged once, although the lists in between succeed', async () => {
  const world = createWorld();
  const log = new RecordingLogger();
  const { reflector } = reflectorOf(world, { log });
  world.server.onRequest = ({ method }) =>
    method === 'WATCH' ? { kind: 'status', status: 403, when: 'before' } : undefined;
  void reflector.run(new AbortController().signal);
  await world.clock.advance(10 * minuteMs);
  expect(log.warnings()).toHaveLength(1);
  expect(log.lines.filter(({ level }) => level === 'info')).toEqual([]);
});

test('a list that was requested before `relist` was called does not end the wait', async () => {
  const world = createWorld();
  const api = world.server.client('operator');
  const request = api.request.bind(api);
  const lists: string[][] = [];
  api.request = async (call) => {
    const response = await request(call);
    if (lists.length === 0 && listed === undefined) {
      listed = reflector.relist();
      createPolicy(world, 'production');
    }
    return response;
  };
  const client = new ApiClient({ api, ...surroundings(world) });
  const { cache, reflector } = reflectorOf(world, {
    client,
    onList: () => lists.push([...cache.list()].map(({ metadata }) => metadata.name)),
  });
  let listed: Promise<void> | undefined;
  void reflector.run(new AbortController().signal);
  await world.clock.advance(1_000);
  await listed;
  expect(lists).toEqual([['production']]);
});

test('a refused write whose version is the newest leads to only one list', async () => {
  const { world, host } = await followed();
  const policy = host.resources(policies).get(key) as CollectorVersionPolicy;
  world.server.onRequest = ({ method, collection }) =>
    method === 'PUT' && collection.endsWith(plural) ? { kind: 'status', status: 409, when: 'before' } : undefined;
  const collection = resourcePath(policies, undefined);
  const lists = () => world.server.requests.filter(({ method, path }) => method === 'GET' && path === collection);
  await world.clock.during(host.writeStatus(policies, { ...policy, status: {} }).catch(() => undefined));
  await world.clock.advance(5 * minuteMs);
  expect(lists()).toHaveLength(2);
});

test('an event of an own write is not decoded, and later events are', async () => {
  const world = createWorld();
  const created = createPolicy(world, 'production');
  const decoded: string[] = [];
  const decode = (value: unknown) => {
    const resource = decodeResource(policies, value);
    if (resource) decoded.push(resource.metadata.resourceVersion);
    return resource;
  };
  const client = clientOf(world);
  const { cache, reflector } = reflectorOf(world, { client, decode });
  const stop = new AbortController();
  const running = reflector.run(stop.signal);
  await world.clock.advance(1_000);
  expect(decoded).toEqual([created.metadata.resourceVersion]);
  // The watch event for the status write arrives long after the response to the write.
  world.server.onWatchEvent = () => ({ kind: 'delay', delayMs: 1_000 });
  const status = { ...created, status: { targetVersion: '19.500-1' } } as CollectorVersionPolicy;
  const written = await world.clock.during(cache.write(created.metadata, () => writeStatus(client, status)));
  await world.clock.advance(5_000);
  expect(decoded).toHaveLength(1);
  retarget(world, 'production', '19.501-1');
  await world.clock.advance(5_000);
  expect(decoded).toHaveLength(2);
  expect(decoded).not.toContain(written.metadata.resourceVersion);
  expect(cache.get(key)?.spec.target.version).toBe('19.501-1');
  stop.abort();
  await world.clock.advance(1_000);
  await running;
});
