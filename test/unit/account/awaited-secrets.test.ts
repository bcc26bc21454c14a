/**
 * Tests resources that are waiting for a missing Secret: how often the Secret is read, and how the resources notice
 * that it now exists (C2).
 */
import { describe, expect, test } from 'vitest';
import { AwaitedSecrets } from '../../../src/account/awaited-secrets.ts';
import { LogfleetError } from '../../../src/base/errors.ts';
import type { ResourceKey } from '../../../src/host/host.ts';
import { MemorySecrets } from '../../support/memory-secrets.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const key: ResourceKey = { namespace: 'logging', name: 'log-service' };

class SecretsWorld {
  readonly clock = new VirtualClock();
  readonly stored = new MemorySecrets();
  readonly woken: string[] = [];
  readonly secrets = new AwaitedSecrets({ clock: this.clock, secrets: this.stored });

  /** Reads the Secret, and waits until it changes. */
  async stall(waiter: string, at = key): Promise<void> {
    const { changes } = this.secrets;
    await this.secrets.get(at).catch(() => undefined);
    this.secrets.wait(waiter, [at], changes, () => this.woken.push(waiter));
  }
}

function failure(kind: 'stall' | 'backoff'): LogfleetError {
  return new LogfleetError({ code: 'host.forbidden', message: 'forbidden', handling: { kind } });
}

describe('a Secret that is missing', () => {
  test('causes one read in five seconds for any number of waiters', async () => {
    const world = new SecretsWorld();
    for (let index = 0; index < 1_000; index++) await world.stall(`export ${index}`);
    expect(world.stored.reads).toHaveLength(1);
    await world.clock.advance(60_000);
    expect(world.stored.reads).toHaveLength(1 + 12);
    expect(world.woken).toEqual([]);
  });

  test('wakes all of its waiters once, within five seconds of its creation', async () => {
    const world = new SecretsWorld();
    await world.stall('one');
    await world.stall('two');
    await world.clock.advance(60_001);
    world.stored.set(key, { accessKey: 'key' });
    await world.clock.advance(5_000);
    expect(world.woken).toEqual(['one', 'two']);
    const reads = world.stored.reads.length;
    await world.clock.advance(60_000);
    expect(world.woken).toEqual(['one', 'two']);
    expect(world.stored.reads).toHaveLength(reads);
  });

  test('is read for all of its waiters at once when it has changed', async () => {
    const world = new SecretsWorld();
    await world.stall('one');
    world.stored.set(key, { accessKey: 'key' });
    await world.clock.advance(5_000);
    const reads = world.stored.reads.length;
    for (let index = 0; index < 1_000; index++) await world.secrets.get(key);
    expect(world.stored.reads).toHaveLength(reads);
  });

  test('is not read for a deleted resource', async () => {
    const world = new SecretsWorld();
    await world.stall('one');
    world.secrets.leave('one');
    await world.clock.advance(60_000);
    expect(world.stored.reads).toHaveLength(1);
  });
});

test('a change between reading and waiting wakes the resource immediately', async () => {
  const world = new SecretsWorld();
  await world.stall('one');
  const { changes } = world.secrets;
  world.stored.set(key, { accessKey: 'key' });
  await world.clock.advance(5_000);
  world.secrets.wait('two', [key], changes, () => world.woken.push('two'));
  expect(world.woken).toEqual(['one', 'two']);
});

test('a Secret with a wrong value wakes its waiters when the value changes', async () => {
  const world = new SecretsWorld();
  world.stored.set(key, { accessKey: 'wrong' });
  await world.stall('one');
  await world.clock.advance(30_000);
  expect(world.woken).toEqual([]);
  world.stored.set(key, { accessKey: 'right' });
  await world.clock.advance(5_000);
  expect(world.woken).toEqual(['one']);
});

test('a Secret without read permission wakes its waiters when the permission is granted', async () => {
  const world = new SecretsWorld();
  world.stored.set(key, { accessKey: 'key' });
  world.stored.failure = failure('stall');
  await world.stall('one');
  await world.clock.advance(30_000);
  expect(world.woken).toEqual([]);
  world.stored.failure = undefined;
  await world.clock.advance(5_000);
  expect(world.woken).toEqual(['one']);
});

test('an unreachable API server wakes no waiter', async () => {
  const world = new SecretsWorld();
  await world.stall('one');
  world.stored.failure = failure('backoff');
  await world.clock.advance(30_000);
  world.stored.failure = undefined;
  await world.clock.advance(30_000);
  expect(world.woken).toEqual([]);
});

test('at most 20 reads per second look for changes, and every awaited Secret gets its turn', async () => {
  const world = new SecretsWorld();
  for (let index = 0; index < 400; index++) await world.stall(`export ${index}`, { ...key, name: `secret-${index}` });
  world.stored.reads.length = 0;
  await world.clock.advance(30_000);
  expect(world.stored.reads.length).toBeLessThanOrEqual(600);
  expect(new Set(world.stored.reads).size).toBe(400);
});

test('a change is noticed even if so many Secrets are awaited that each of them is read less often', async () => {
  const world = new SecretsWorld();
  const nameOf = (index: number) => ({ namespace: 'logging', name: `secret-${index}` });
  for (let index = 0; index < 150; index++) await world.stall(`export ${index}`, nameOf(index));
  await world.clock.advance(30_000);
  for (const index of [7, 70]) world.stored.set(nameOf(index), { accessKey: 'key' });
  await world.clock.advance(10_000);
  expect(world.woken.sort()).toEqual(['export 7', 'export 70']);
});

test('the result of a read that was sent before a rejection is ignored', async () => {
  const world = new SecretsWorld();
  world.stored.set(key, { accessKey: 'old' });
  await world.secrets.get(key);
  world.stored.set(key, { accessKey: 'new' });
  await world.clock.advance(1_000);
  const members = await world.secrets.get(key, world.clock.monotonic());
  expect(members?.get('accessKey')?.reveal()).toBe('new');
});

test('a resource that waits long after its read is woken by the next read, once', async () => {
  const world = new SecretsWorld();
  const { changes } = world.secrets;
  await world.secrets.get(key);
  await world.clock.advance(20_000);
  await world.secrets.get({ ...key, name: 'other' });
  world.secrets.wait('one', [key], changes, () => world.woken.push('one'));
  await world.clock.advance(60_000);
  expect(world.woken).toEqual(['one']);
});
