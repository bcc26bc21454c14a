/**
 * Tests cases that occur only with directories: symbolic links, full disks, files owned by other users, and processes
 * on other machines.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openDestination } from '../../src/destination/open-destination.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import { Folder } from '../../src/destination/volume/folder.ts';
import { NewFile } from '../../src/destination/volume/new-file.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Child } from './child.ts';
import { type FolderPlace, makeVolume, openPlace, systemPorts } from './place.ts';
import { drain } from './stores.ts';

const outside = { code: 'destination.outside', handling: { kind: 'stall' } };

let place: FolderPlace;
let directory: string;
let elsewhere: string;
let destination: Destination;
beforeEach(async () => {
  place = makeVolume();
  directory = (place.data as { directory: string }).directory;
  elsewhere = mkdtempSync(join(tmpdir(), 'logfleet-elsewhere-'));
  destination = await openPlace(place.data);
});
afterEach(() => {
  place.remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

describe('a symbolic link', () => {
  const everything = (name: string): readonly (() => Promise<unknown>)[] => [
    () => destination.create(name, Buffer.from('x')),
    () => destination.open(name),
    () => destination.read(name),
    () => drain(destination.stream(name)),
    () => destination.remove(name),
  ];

  test.each(['logging', 'logging/audit', 'logging/audit/data'])(
    'in place of the folder %s is refused',
    async (folder) => {
      mkdirSync(join(directory, folder, '..'), { recursive: true });
      symlinkSync(elsewhere, join(directory, folder));
      mkdirSync(join(elsewhere, 'audit/data'), { recursive: true });
      writeFileSync(join(elsewhere, 'audit/data/x'), 'not ours');
      for (const act of everything('data/x')) await expect(act()).rejects.toMatchObject(outside);
      await expect(drain(destination.list('data'))).rejects.toMatchObject(outside);
      await expect(destination.abortLeftovers('data', 'all')).rejects.toMatchObject(outside);
      expect(readFileSync(join(elsewhere, 'audit/data/x'), 'utf8')).toBe('not ours');
    },
  );

  test('is neither read nor written as a file', async () => {
    mkdirSync(join(directory, 'logging/audit'), { recursive: true });
    writeFileSync(join(elsewhere, 'secret'), 'not ours');
    symlinkSync(join(elsewhere, 'secret'), join(directory, 'logging/audit/plan'));
    symlinkSync(join(elsewhere, 'new'), join(directory, 'logging/audit/fresh'));
    await expect(destination.read('plan')).rejects.toMatchObject(outside);
    await expect(drain(destination.stream('plan'))).rejects.toMatchObject(outside);
    expect(await destination.create('plan', Buffer.from('x'))).toBe('exists');
    expect(await destination.create('fresh', Buffer.from('x'))).toBe('exists');
    await destination.remove('plan');
    expect(readFileSync(join(elsewhere, 'secret'), 'utf8')).toBe('not ours');
    expect(() => readFileSync(join(elsewhere, 'new'))).toThrow('ENOENT');
  });

  test('in a folder is not listed, nor is its target', async () => {
    await destination.create('data/real', Buffer.from('x'));
    writeFileSync(join(elsewhere, '.logfleet-w00000000-1--0000000000000000.part'), '');
    symlinkSync(elsewhere, join(directory, 'logging/audit/data/link'));
    const names: string[] = [];
    for await (const { name } of destination.list('')) names.push(name);
    expect(names).toEqual(['data/real']);
    expect(await destination.abortLeftovers('', 'all')).toBe(0);
  });

  test('is followed if it is the directory itself', async () => {
    const link = join(elsewhere, 'exports');
    symlinkSync(directory, link);
    const linked = await openPlace({ kind: 'volume', directory: link, root: 'logging/audit' });
    await linked.create('plan', Buffer.from('x'));
    expect((await destination.read('plan'))?.toString()).toBe('x');
  });
});

test('a new folder is flushed to disk, and an existing folder is not', async () => {
  const root = (await Folder.openRoot(directory)) as Folder;
  const sync = vi.spyOn(root, 'sync');
  for (let times = 0; times < 2; times++) await (await root.enterOrMake('new')).close();
  expect(sync).toHaveBeenCalledTimes(1);
  await root.close();
});

test('a pipe in place of a file does not block', async () => {
  mkdirSync(join(directory, 'logging/audit'), { recursive: true });
  execFileSync('mkfifo', [join(directory, 'logging/audit/plan')]);
  await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.damaged' });
});

test('a file in place of a folder is reported', async () => {
  await destination.create('data', Buffer.from('x'));
  await expect(destination.create('data/x', Buffer.from('x'))).rejects.toMatchObject({ code: 'destination.damaged' });
});

test('a missing directory is not created, because its volume may not be mounted', async () => {
  place.remove();
  const missing = { code: 'destination.missing', reason: 'DestinationNotFound', handling: { kind: 'stall' } };
  await expect(destination.create('x', Buffer.from('x'))).rejects.toMatchObject(missing);
  await expect(destination.read('x')).rejects.toMatchObject(missing);
  expect(() => readFileSync(directory)).toThrow('ENOENT');
});

test('a full disk keeps complete files and no unfinished ones, and the writer waits for space', async () => {
  await using child = new Child(place.data, { kind: 'fill', keptBytes: 64 * 1024, largeBytes: 8 * 1024 * 1024 }, 2_048);
  const full = { code: 'destination.full', reason: 'DestinationFull', handling: { kind: 'wait' } };
  expect(await child.line()).toEqual({ upload: full, create: full });
  expect(place.files()).toEqual(['logging/audit/data/kept']);
  expect(await destination.create('record', Buffer.alloc(8 * 1024 * 1024))).toBe('created');
});

describe('a disk that fails after a file has its final name', () => {
  const begin = async () => {
    const folder = await Folder.openRoot(directory);
    if (!folder) throw new Error('the directory is there');
    folder.sync = () => Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
    const file = await NewFile.begin(folder, 'x', await Writer.ours(systemRandom), systemClock);
    await file.write(Buffer.from('row'));
    await expect(file.place()).rejects.toMatchObject({ code: 'destination.away', handling: { kind: 'backoff' } });
    expect(place.files()).toContain('x');
    return file;
  };

  test('leaves nothing when the upload is aborted', async () => {
    const file = await begin();
    await file.discard();
    expect(place.files()).toEqual([]);
  });

  test('does not remove the file of another writer', async () => {
    const file = await begin();
    rmSync(join(directory, 'x'));
    writeFileSync(join(directory, 'x'), 'theirs');
    await file.discard();
    expect(readFileSync(join(directory, 'x'), 'utf8')).toBe('theirs');
    expect(place.files()).toEqual(['x']);
  });
});

describe('uploads of processes that cannot be checked (E15)', () => {
  const foreign = '.logfleet-w00000000-1-5-00000000000000aa.part';

  test('are kept while they are recent, with any modification time', async () => {
    await destination.create('data/x', Buffer.from('x'));
    const file = join(directory, 'logging/audit/data', foreign);
    writeFileSync(file, 'rows');
    utimesSync(file, 0, 0);
    expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(0);
    expect(await destination.abortLeftovers('', 'all')).toBe(1);
    expect(place.files()).toEqual(['logging/audit/data/x']);
  });

  test('get a new modification time every ten seconds', async () => {
    const clock = new VirtualClock();
    const waiting = await openDestination({ kind: 'volume', directory, root: '' }, { ...(await systemPorts()), clock });
    const upload = await waiting.open('data/x');
    expect(clock.next()).toBe(10_000);
    await upload.abort();
    expect(clock.next()).toBeUndefined();
  });

  test('do not include similar files of other programs', async () => {
    await destination.create('data/x', Buffer.from('x'));
    writeFileSync(join(directory, 'logging/audit/data/.nfs0001.part'), 'theirs');
    writeFileSync(join(directory, 'logging/audit/data/rows.part'), 'theirs');
    expect(await destination.abortLeftovers('', 'all')).toBe(0);
    expect(place.files()).toHaveLength(3);
  });
});

test('folders and files are not accessible to all users', async () => {
  await destination.create('data/x', Buffer.from('x'));
  const modes = execFileSync('stat', [
    '-c',
    '%a',
    join(directory, 'logging/audit/data'),
    join(directory, 'logging/audit/data/x'),
  ]);
  expect(
    modes
      .toString()
      .split('\n')
      .slice(0, 2)
      .every((mode) => mode.endsWith('0')),
  ).toBe(true);
});
