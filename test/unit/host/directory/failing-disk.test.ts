/** Tests the effect of a file operation that fails once. */
import { expect, test, vi } from 'vitest';
import { find, get, ownerOf, policy, Workplace } from '../../../support/workplace.ts';

type Operation = (...args: unknown[]) => Promise<unknown>;

const disk = vi.hoisted(() => ({
  operations: 0,
  /** Number of the operation that fails. */
  failing: -1,
  /** Path of a file that cannot be removed. */
  unremovable: '',
}));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<Record<string, Operation>>();
  const failing = (name: string): Operation => {
    return async (...args) => {
      const isFailing = disk.operations++ === disk.failing || (name === 'rm' && args[0] === disk.unremovable);
      if (isFailing) throw Object.assign(new Error('on purpose'), { code: 'EIO' });
      return real[name]?.(...args);
    };
  };
  const changing = ['link', 'mkdir', 'open', 'rename', 'rm', 'writeFile'];
  return { ...real, ...Object.fromEntries(changing.map((name) => [name, failing(name)])) };
});

test('a run also ends normally if its lock file cannot be removed, and the next run takes over the lock', async () => {
  const place = new Workplace();
  const host = await place.open();
  disk.unremovable = place.path('.logfleet/lock');
  await host.close();
  disk.unremovable = '';
  const holder = JSON.parse(place.read('.logfleet/lock'));
  // The process with this start time has ended.
  place.write('.logfleet/lock', JSON.stringify({ ...holder, processStart: '1' }));
  expect((await place.open()).leadership.tookOverByForce()).toBe(true);
});

test('a directory either opens or is reported as not writable, and opens at the next start', async () => {
  let isLast = false;
  for (let operation = 0; !isLast; operation++) {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    disk.failing = disk.operations + operation;
    const first = await place.open().catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'host.disk', message: expect.stringContaining(place.directory) });
    });
    isLast = disk.operations <= disk.failing;
    disk.failing = -1;
    await first?.close();
    expect(find(await place.open(), 'web')).toBeDefined();
  }
});

test('a resource that moves to another directory keeps its ledger although a file operation fails', async () => {
  let isLast = false;
  for (let operation = 0; !isLast; operation++) {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const owner = ownerOf(get(host, 'web'));
    await host.ledgers.write(owner, 'head', 'content', undefined);
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    disk.failing = disk.operations + operation;
    await host.refresh();
    isLast = disk.operations <= disk.failing;
    disk.failing = -1;
    expect(await host.ledgers.read(owner, 'head')).toEqual({ content: 'content', version: '1' });
    await host.refresh();
    expect(await host.ledgers.read(owner, 'head')).toEqual({ content: 'content', version: '1' });
    expect([host.problems(), host.directoryOf(owner)]).toEqual([[], place.path('b')]);
    expect(find(host, 'web')?.metadata.uid).toBe(owner.uid);
    await host.close();
  }
});
