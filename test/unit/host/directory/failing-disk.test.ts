/** Tests the effect of a file operation that fails once. */
import { readdirSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeDurably } from '../../../../src/host/directory/durable-file.ts';
import { find, get, ownerOf, policy, Workplace } from '../../../support/workplace.ts';

type Operation = (...args: unknown[]) => Promise<unknown>;

const disk = {
  operations: 0,
  /** Number of the operation that fails. */
  failing: -1,
  /** Path of a file that cannot be removed. */
  unremovable: '',
  /** Names of the file operations so far, in order. */
  names: [] as string[],
};

const changing = ['link', 'mkdir', 'open', 'rename', 'rm', 'writeFile'] as const;
const real = { ...files };

function setOperations(operation: (name: (typeof changing)[number]) => unknown): void {
  for (const name of changing) Object.assign(files, { [name]: operation(name) });
  syncBuiltinESMExports();
}

function failing(name: (typeof changing)[number]): Operation {
  return async (...args) => {
    disk.names.push(name);
    const isFailing = disk.operations++ === disk.failing || (name === 'rm' && args[0] === disk.unremovable);
    if (isFailing) throw Object.assign(new Error('on purpose'), { code: 'EIO' });
    return (real[name] as Operation)(...args);
  };
}

// File operations are replaced here, because vitest's mocks do not reach modules that another test file has loaded.
beforeAll(() => setOperations(failing));
afterAll(() => setOperations((name) => real[name]));

test('new content is flushed to disk before it replaces the old content, and the folder is flushed afterwards', async () => {
  const place = new Workplace();
  const handle = await real.open(place.directory);
  const prototype: { sync: () => Promise<void> } = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  prototype.sync = function recordedSync() {
    disk.names.push('sync');
    return sync.call(this);
  };
  try {
    disk.names = [];
    await writeDurably(place.path('file'), 'content');
  } finally {
    prototype.sync = sync;
  }
  expect(disk.names).toEqual(['open', 'sync', 'rename', 'open', 'sync']);
});

test('a write that fails leaves no temporary file', async () => {
  const place = new Workplace();
  const before = readdirSync(place.directory);
  // The first operation opens the temporary file, and the second one renames it.
  [disk.operations, disk.failing] = [0, 1];
  await expect(writeDurably(place.path('file'), 'content')).rejects.toMatchObject({ code: 'host.disk' });
  expect(readdirSync(place.directory)).toEqual(before);
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

/**
 * Runs `use` repeatedly, each time with a failure in a different file operation, and finally without a failure. After
 * each run, the disk works again, and `check` runs.
 */
async function withEachFailure<Prepared, Used>(
  prepare: () => Promise<Prepared>,
  use: (prepared: Prepared) => Promise<Used>,
  check: (prepared: Prepared, used: Used) => Promise<void>,
): Promise<void> {
  let operation = 0;
  for (let isLast = false; !isLast; operation++) {
    const prepared = await prepare();
    disk.failing = disk.operations + operation;
    const used = await use(prepared);
    isLast = disk.operations <= disk.failing;
    disk.failing = -1;
    await check(prepared, used);
  }
  expect(operation).toBeGreaterThan(5);
}

test('a directory either opens or is reported as not writable, and opens at the next start', async () => {
  const prepare = async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    return place;
  };
  const open = (place: Workplace) =>
    place.open().catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'host.disk', message: expect.stringContaining(place.directory) });
    });
  await withEachFailure(prepare, open, async (place, first) => {
    await first?.close();
    expect(find(await place.open(), 'web')).toBeDefined();
  });
});

test('a resource that moves to another directory keeps its ledger although a file operation fails', async () => {
  const prepare = async () => {
    const place = new Workplace();
    place.write('a/web.yaml', policy('web'));
    place.write('b/api.yaml', policy('api'));
    const host = await place.open({ directories: [place.path('a'), place.path('b')] });
    const owner = ownerOf(get(host, 'web'));
    await host.ledgers.write(owner, 'head', 'content', undefined);
    place.write('b/web.yaml', place.read('a/web.yaml'));
    place.remove('a/web.yaml');
    return { place, host, owner };
  };
  const move = ({ host }: Awaited<ReturnType<typeof prepare>>) => host.refresh();
  await withEachFailure(prepare, move, async ({ place, host, owner }) => {
    expect(await host.ledgers.read(owner, 'head')).toEqual({ content: 'content', version: '1' });
    await host.refresh();
    expect(await host.ledgers.read(owner, 'head')).toEqual({ content: 'content', version: '1' });
    expect([host.problems(), host.directoryOf(owner)]).toEqual([[], place.path('b')]);
    expect(find(host, 'web')?.metadata.uid).toBe(owner.uid);
    await host.close();
  });
});
