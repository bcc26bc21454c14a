/** Tests that a file operation that fails once loses no state of a directory. */
import { expect, test, vi } from 'vitest';
import { find, get, ownerOf, policy, Workplace } from '../../../support/workplace.ts';

type Operation = (...args: unknown[]) => Promise<unknown>;

const disk = vi.hoisted(() => ({ operations: 0, failing: -1 }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<Record<string, Operation>>();
  const failing = (operation: Operation): Operation => {
    return async (...args) => {
      if (disk.operations++ === disk.failing) throw Object.assign(new Error('on purpose'), { code: 'EIO' });
      return operation(...args);
    };
  };
  const changing = ['mkdir', 'open', 'rename', 'rm'];
  return { ...real, ...Object.fromEntries(changing.map((name) => [name, failing(real[name] as Operation)])) };
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
