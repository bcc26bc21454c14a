/** Tests leader election: one process leads, and notices when its leadership ends. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/base/random.ts';
import { ApiClient } from '../../../../src/host/kubernetes/api-client.ts';
import { objectPath, operatorLeaseName } from '../../../../src/host/kubernetes/api-paths.ts';
import {
  LeaseElection,
  leaseDurationMs,
  renewDeadlineMs,
  soleLeadership,
} from '../../../../src/host/kubernetes/lease.ts';
import type { MemoryApiClient } from '../../../support/memory-api-server.ts';
import { ProcessClock, ProcessGate } from '../../../support/process-gate.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import { createWorld, type KubernetesWorld, surroundings } from './world.ts';

const namespace = 'logfleet-system';
const path = objectPath('leases', namespace, operatorLeaseName);
/**
 * Maximum time in ms between two checks of the lease by a follower: a wait of at most 2.2 s, plus the time for the
 * request.
 */
const checkIntervalMs = 2_300;

class LeaseCandidate {
  readonly api: MemoryApiClient;
  readonly clock: ProcessClock;
  readonly election: LeaseElection;

  readonly log = new RecordingLogger();

  constructor(world: KubernetesWorld, name: string, seed: number) {
    const gate = new ProcessGate();
    this.api = world.server.client(name, gate);
    this.clock = new ProcessClock(world.clock, gate);
    const around = { ...surroundings(world, this.clock), random: seededRandom(seed), log: this.log };
    const client = new ApiClient({ ...around, api: this.api });
    this.election = new LeaseElection({
      ...around,
      client,
      namespace,
      identity: name,
      version: '1.2.3',
    });
  }

  freeze(): void {
    this.api.gate.freeze();
  }

  thaw(): void {
    this.api.gate.thaw();
  }

  kill(): void {
    this.api.kill();
  }
}

async function pair(): Promise<{ world: KubernetesWorld; first: LeaseCandidate; second: LeaseCandidate }> {
  const world = createWorld();
  const [first, second] = [new LeaseCandidate(world, 'first', 1), new LeaseCandidate(world, 'second', 2)];
  first.election.start();
  await world.clock.advance(100);
  second.election.start();
  await world.clock.advance(100);
  return { world, first, second };
}

function holder(world: KubernetesWorld): string {
  const spec = world.server.get(path)?.spec as { holderIdentity: string } | undefined;
  return spec?.holderIdentity.split('_')[0] ?? 'no lease';
}

test('the leader writes its version into an annotation of the lease', async () => {
  const { world } = await pair();
  const { metadata } = world.server.get(path) as { readonly metadata: object };
  expect(metadata).toMatchObject({ annotations: { 'logfleet.dev/operator-version': '1.2.3' } });
});

test('the labels and annotations of the lease stay when a process renews or releases the lease', async () => {
  const { world, first } = await pair();
  const metadata = { labels: { 'app.kubernetes.io/managed-by': 'Helm' }, annotations: { 'example.com/note': 'kept' } };
  world.server.patch(path, { metadata });
  await world.clock.advance(3 * checkIntervalMs);
  expect(first.election.isLeader()).toBe(true);
  expect(world.server.get(path)?.metadata).toMatchObject(metadata);
  const released = first.election.release();
  await world.clock.advance(checkIntervalMs);
  await released;
  expect(world.server.get(path)?.metadata).toMatchObject(metadata);
});

test('the first process leads immediately, and the second follows while the first renews the lease', async () => {
  const { world, first, second } = await pair();
  expect(first.election.isLeader()).toBe(true);
  expect(first.election.term()).toBe(1);
  expect(first.election.tookOverByForce()).toBe(false);
  await world.clock.advance(600_000);
  expect(first.election.isLeader()).toBe(true);
  expect(first.election.term()).toBe(1);
  expect(second.election.isLeader()).toBe(false);
  expect(second.election.term()).toBe(0);
});

test('the lease has the fields that Kubernetes defines', async () => {
  const { world } = await pair();
  const spec = world.server.get(path)?.spec as Record<string, unknown>;
  expect(spec.leaseDurationSeconds).toBe(15);
  expect(spec.leaseTransitions).toBe(0);
  expect(spec.holderIdentity).toMatch(/^first_[0-9a-f]{8}$/);
  expect(spec.renewTime).toMatch(/^2026-11-01T00:00:0\d\.\d{6}Z$/);
  await world.clock.advance(3 * checkIntervalMs);
  const renewed = world.server.get(path)?.spec as Record<string, unknown>;
  expect([renewed.acquireTime, renewed.renewTime === spec.renewTime]).toEqual([spec.acquireTime, false]);
});

test('a released lease is taken at the next check, without a takeover by force', async () => {
  const { world, first, second } = await pair();
  const released = first.election.release();
  expect(first.election.isLeader()).toBe(false);
  await world.clock.advance(checkIntervalMs);
  await released;
  expect(second.election.isLeader()).toBe(true);
  expect(second.election.tookOverByForce()).toBe(false);
});

test('a leader that is killed is replaced by force when its lease has expired', async () => {
  const { world, first, second } = await pair();
  first.kill();
  await world.clock.advance(leaseDurationMs - checkIntervalMs);
  expect(second.election.isLeader()).toBe(false);
  await world.clock.advance(3 * checkIntervalMs);
  expect(second.election.isLeader()).toBe(true);
  expect(second.election.tookOverByForce()).toBe(true);
  expect(second.election.term()).toBe(1);
});

test('a lease with a longer duration, held by another program, is not taken before it expires', async () => {
  const world = createWorld();
  world.server.patch(path, { spec: { holderIdentity: 'other', leaseDurationSeconds: 60 } });
  const only = new LeaseCandidate(world, 'only', 1);
  only.election.start();
  await world.clock.advance(59_000);
  expect(only.election.isLeader()).toBe(false);
  await world.clock.advance(2 * checkIntervalMs);
  expect(only.election.isLeader()).toBe(true);
});

test('a leader that was stopped longer than its lease notices before anything else runs', async () => {
  const { world, first, second } = await pair();
  first.freeze();
  await world.clock.advance(60_000);
  expect(second.election.isLeader()).toBe(true);
  expect(first.election.isLeader()).toBe(false);
  const heard: boolean[] = [];
  first.election.subscribe(() => heard.push(first.election.isLeader()));
  first.thaw();
  await world.clock.advance(60_000);
  expect(heard).toEqual([false]);
  expect(first.election.isLeader()).toBe(false);
  expect(second.election.term()).toBe(1);
});

test('a leader that was suspended without a takeover begins a new term', async () => {
  const world = createWorld();
  const only = new LeaseCandidate(world, 'only', 1);
  only.election.start();
  await world.clock.advance(100);
  only.freeze();
  await world.clock.advance(renewDeadlineMs + 1);
  expect(only.election.isLeader()).toBe(false);
  only.thaw();
  await world.clock.advance(checkIntervalMs);
  expect(only.election.isLeader()).toBe(true);
  expect(only.election.term()).toBe(2);
  expect(only.election.tookOverByForce()).toBe(false);
});

test('a leader without connection stops leading 5 s before another process may start', async () => {
  const { world, first, second } = await pair();
  first.api.partition();
  let ceasedAtMs = Number.NaN;
  let beganAtMs = Number.NaN;
  first.election.subscribe(() => {
    ceasedAtMs = world.clock.monotonic();
  });
  second.election.subscribe(() => {
    beganAtMs = world.clock.monotonic();
  });
  await world.clock.advance(30_000);
  expect(first.election.isLeader()).toBe(false);
  expect(second.election.isLeader()).toBe(true);
  expect(beganAtMs - ceasedAtMs).toBeGreaterThan(4_900);
  first.api.heal();
  await world.clock.advance(30_000);
  expect(first.election.isLeader()).toBe(false);
});

test('the age of a lease begins when its renewal was sent, however late the response arrives', async () => {
  const { world, first } = await pair();
  world.server.onRequest = ({ method }) => (method === 'PUT' ? { kind: 'delay', delayMs: 2_000 } : undefined);
  await world.clock.advance(20_000);
  const renewals = () => world.server.requests.filter(({ client, method }) => client === 'first' && method === 'PUT');
  const before = renewals().length;
  await world.clock.run(() => renewals().length > before);
  await world.clock.advance(1_100);
  const effectiveAtMs = renewals().at(-1)?.atMs ?? Number.NaN;
  let ceasedAtMs = Number.NaN;
  first.election.subscribe(() => {
    ceasedAtMs = world.clock.monotonic();
  });
  first.api.partition();
  await world.clock.advance(30_000);
  expect(ceasedAtMs - effectiveAtMs).toBeLessThan(renewDeadlineMs - 900);
});

test('two processes never lead at the same time during half an hour of faults, whatever their wall clocks show', async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const world = createWorld({ latencyMs: [1, 400] });
    const random = seededRandom(seed);
    const candidates = ['a', 'b', 'c'].map((name, index) => new LeaseCandidate(world, name, seed * 10 + index));
    world.server.onRequest = () => {
      const when = random.next() < 0.5 ? 'before' : 'after';
      if (random.next() < 0.2) return { kind: 'reset', when };
      return random.next() < 0.2 ? { kind: 'stall', when } : undefined;
    };
    let maxAtOnce = 0;
    const countLeaders = () => {
      maxAtOnce = Math.max(maxAtOnce, candidates.filter(({ election }) => election.isLeader()).length);
    };
    for (const candidate of candidates) {
      candidate.clock.skewMs = (random.next() - 0.5) * 86_400_000;
      candidate.election.subscribe(countLeaders);
      candidate.election.start();
    }
    let led = 0;
    for (let step = 0; step < 1_800; step++) {
      const chosen = candidates[Math.floor(random.next() * candidates.length)] as LeaseCandidate;
      if (random.next() < 0.02) chosen.freeze();
      if (random.next() < 0.05) chosen.thaw();
      await world.clock.advance(1_000);
      countLeaders();
      led += candidates.filter(({ election }) => election.isLeader()).length;
    }
    expect(maxAtOnce).toBe(1);
    expect(led).toBeGreaterThan(180);
  }
});

test('wall clocks that differ by a day have no effect', async () => {
  const { world, first, second } = await pair();
  second.clock.skewMs = 86_400_000;
  first.clock.skewMs = -86_400_000;
  await world.clock.advance(120_000);
  expect(first.election.isLeader()).toBe(true);
  expect(holder(world)).toBe('first');
});

test.each(['before', 'after'] as const)(
  'responses that are lost %s the effect neither lose the lease nor end the term',
  async (when) => {
    const { world, first, second } = await pair();
    let number = 0;
    world.server.onRequest = ({ client }) =>
      client === 'first' && number++ % 3 === 0 ? { kind: 'reset', when } : undefined;
    await world.clock.advance(600_000);
    expect(first.election.isLeader()).toBe(true);
    expect(first.election.term()).toBe(1);
    expect(second.election.term()).toBe(0);
  },
);

test('a takeover by force counts as forced even if its response was lost', async () => {
  const { world, first, second } = await pair();
  first.kill();
  let lost = 0;
  world.server.onRequest = ({ method }) =>
    method === 'PUT' && lost++ === 0 ? { kind: 'reset', when: 'after' } : undefined;
  await world.clock.advance(30_000);
  expect(lost).toBeGreaterThan(1);
  expect(second.election.isLeader()).toBe(true);
  expect(second.election.tookOverByForce()).toBe(true);
});

test('a lease that is deleted while it is held is not taken before it would have expired', async () => {
  const { world, first, second } = await pair();
  await world.clock.advance(5_000);
  first.api.partition();
  world.server.remove(path);
  await world.clock.advance(renewDeadlineMs - 2_500);
  expect(first.election.isLeader()).toBe(true);
  expect(second.election.isLeader()).toBe(false);
  await world.clock.advance(30_000);
  expect(first.election.isLeader()).toBe(false);
  expect(second.election.isLeader()).toBe(true);
  expect(second.election.tookOverByForce()).toBe(true);
});

test('a process that never saw the deleted lease waits until its holder has stopped, and takes over by force', async () => {
  const { world, first, second } = await pair();
  second.kill();
  first.api.partition();
  world.server.remove(path);
  const third = new LeaseCandidate(world, 'third', 3);
  third.election.start();
  const leaders = () => [first, third].filter(({ election }) => election.isLeader()).length;
  for (let look = 0; look < 200; look++) {
    await world.clock.advance(100);
    expect(leaders()).toBeLessThanOrEqual(1);
  }
  expect(third.election.isLeader()).toBe(true);
  expect(third.election.tookOverByForce()).toBe(true);
});

test('a machine that slept has lost the lease, although its monotonic clock did not advance', async () => {
  const { first } = await pair();
  first.clock.skewMs = renewDeadlineMs;
  expect(first.election.isLeader()).toBe(false);
});

test('a wall clock that is set back does not lengthen the lease', async () => {
  const { world, first } = await pair();
  first.clock.skewMs = -3_600_000;
  first.api.partition();
  await world.clock.advance(renewDeadlineMs);
  expect(first.election.isLeader()).toBe(false);
});

test('a renewal without a response fails early enough for two more attempts', async () => {
  const { world, first } = await pair();
  let stalls = 2;
  world.server.onRequest = ({ client }) =>
    client === 'first' && stalls-- > 0 ? { kind: 'stall', when: 'before' } : undefined;
  await world.clock.advance(60_000);
  expect(stalls).toBeLessThan(0);
  expect(first.election.term()).toBe(1);
  expect(first.election.isLeader()).toBe(true);
});

test('each period without access to the lease is logged as one warning', async () => {
  const { world, second } = await pair();
  const warned = () => second.log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  const forbidden = { namespace, name: operatorLeaseName, error: expect.objectContaining({ code: 'host.forbidden' }) };
  for (const periods of [1, 2]) {
    world.server.onRequest = () => ({ kind: 'status', status: 403, when: 'before' });
    await world.clock.advance(10 * checkIntervalMs);
    world.server.onRequest = () => undefined;
    await world.clock.advance(10 * checkIntervalMs);
    expect(warned()).toEqual(Array(periods).fill(forbidden));
  }
});

test('a conflict with another writer of the lease is not logged as a warning', async () => {
  const { world, first } = await pair();
  first.log.lines.length = 0;
  world.server.patch(path, { metadata: { annotations: { 'example.com/note': 'changed' } } });
  await world.clock.advance(checkIntervalMs);
  expect(first.log.lines).toMatchObject([{ level: 'debug', fields: { error: { code: 'host.conflict' } } }]);
});

test('a release during the first attempt leaves the lease without a holder', async () => {
  const world = createWorld({ latencyMs: [100, 100] });
  const candidate = new LeaseCandidate(world, 'candidate', 1);
  candidate.election.start();
  await world.clock.advance(170);
  expect(world.server.get(path)).toBeDefined();
  expect(candidate.election.isLeader()).toBe(false);
  const released = candidate.election.release();
  await world.clock.advance(1_000);
  await released;
  expect(holder(world)).toBe('');
});

test('a process that is released when the response to its write arrives does not lead', async () => {
  const world = createWorld();
  const candidate = new LeaseCandidate(world, 'candidate', 1);
  const { api, election } = candidate;
  const request = api.request.bind(api);
  let released: Promise<void> | undefined;
  api.request = async (call) => {
    const response = await request(call);
    if (call.method === 'PUT') released ??= election.release();
    return response;
  };
  election.start();
  await world.clock.advance(1_000);
  await released;
  expect([holder(world), election.isLeader(), election.term()]).toEqual(['', false, 0]);
});

test('a release of the leader leaves no timer, which would delay the end of the process', async () => {
  const world = createWorld();
  const { election } = new LeaseCandidate(world, 'leader', 1);
  election.start();
  await world.clock.advance(100);
  expect(election.isLeader()).toBe(true);
  await world.clock.during(election.release());
  expect(world.clock.next()).toBeUndefined();
});

test('a release does not change a lease that another process took', async () => {
  const { world, first, second } = await pair();
  first.freeze();
  await world.clock.advance(30_000);
  first.thaw();
  const wokenAtMs = world.clock.monotonic();
  const released = first.election.release();
  await world.clock.advance(1_000);
  await released;
  expect(holder(world)).toBe('second');
  const written = world.server.requests.filter(
    ({ client, method, atMs }) => client === 'first' && method === 'PUT' && atMs > wokenAtMs,
  );
  expect(written).toEqual([]);
  expect(second.election.isLeader()).toBe(true);
});

test('without leader election, the process always leads and assumes a takeover by force', () => {
  const leadership = soleLeadership();
  expect([leadership.isLeader(), leadership.term(), leadership.tookOverByForce()]).toEqual([true, 1, true]);
});
