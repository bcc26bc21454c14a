import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isSurelyFree, lockHeartbeatMs, ProcessLock, silenceMs } from '../../../../src/host/directory/process-lock.ts';
import { StateDirectory } from '../../../../src/host/directory/state-directory.ts';
import { RecordingLogger } from '../../../support/recording-logger.ts';
import { settle, settleFiles, VirtualClock } from '../../../support/virtual-clock.ts';
import { Workplace } from '../../../support/workplace.ts';

const lockFile = '.logfleet/lock';

function start(directory: string): ChildProcess {
  const script = fileURLToPath(new URL('./lock-holder.ts', import.meta.url));
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  child.stdout?.setEncoding('utf8');
  const [line] = (await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [string];
  return line.trim();
}

function acquire(place: Workplace, scope?: string): Promise<ProcessLock> {
  const { clock, random, directory } = place;
  return ProcessLock.acquire(new StateDirectory(directory), { clock, random, ...(scope !== undefined && { scope }) });
}

test('is reported as free only when that is certain: without a file, or when its process has ended', async () => {
  const place = new Workplace();
  const state = new StateDirectory(place.directory);
  expect(await isSurelyFree(state)).toBe(true);
  const child = start(place.directory);
  await firstLine(child);
  expect(await isSurelyFree(state)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await isSurelyFree(state)).toBe(true);
  const elsewhere = new Workplace();
  await acquire(elsewhere, 'another machine');
  expect(await isSurelyFree(new StateDirectory(elsewhere.directory))).toBe(false);
});

describe('another process', () => {
  test('that is alive keeps this process out, and the message names it', async () => {
    const place = new Workplace();
    const child = start(place.directory);
    expect(await firstLine(child)).toBe(`open ${child.pid} false`);
    await expect(place.open()).rejects.toMatchObject({
      code: 'host.locked',
      handling: { kind: 'stall' },
      message: expect.stringMatching(new RegExp(`process ${child.pid} on .*${lockFile.replace('.', '\\.')}`)),
    });
  });

  test('cannot take a held lock', async () => {
    const place = new Workplace();
    await place.open();
    expect(await firstLine(start(place.directory))).toBe('host.locked');
  });

  test('that was killed is replaced immediately, and the takeover is reported', async () => {
    const place = new Workplace();
    const child = start(place.directory);
    await firstLine(child);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(place.path(lockFile))).toBe(true);
    const host = await place.open();
    expect([host.leadership.isLeader(), host.leadership.tookOverByForce(), host.leadership.term()]).toEqual([
      true,
      true,
      1,
    ]);
  });

  test('a killed process whose parent has not noticed is also replaced', async () => {
    const place = new Workplace();
    // The killed process remains as a zombie, because its parent process never collects its exit status.
    const script = fileURLToPath(new URL('./lock-holder.ts', import.meta.url));
    const command = `"${process.execPath}" "${script}" "${place.directory}" & exec sleep 600`;
    const parent = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const pid = Number((await firstLine(parent)).split(' ')[1]);
    process.kill(pid, 'SIGKILL');
    while (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') === false) await settle();
    expect((await place.open()).leadership.tookOverByForce()).toBe(true);
  });

  test('that ended normally leaves no lock', async () => {
    const place = new Workplace();
    const child = start(place.directory);
    await firstLine(child);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(existsSync(place.path(lockFile))).toBe(false);
    expect((await place.open()).leadership.tookOverByForce()).toBe(false);
  });

  test('exactly one of several processes takes over from a dead one', async () => {
    const place = new Workplace();
    const dead = start(place.directory);
    await firstLine(dead);
    dead.kill('SIGKILL');
    await once(dead, 'exit');
    const lines = await Promise.all([1, 2, 3].map(() => firstLine(start(place.directory))));
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(['host.locked', 'host.locked', 'open']);
    expect(readdirSync(place.path('.logfleet')).filter((name) => name.includes('.tmp'))).toEqual([]);
  });
});

describe('a process that runs on a directory', () => {
  test.each([
    ['that contains', 'outer', 'outer/inner'],
    ['inside', 'outer/inner', 'outer'],
    ['deep inside', 'outer/a/b/inner', 'outer'],
  ])('%s the directory of another process is refused (D6)', async (_, used, wanted) => {
    const place = new Workplace();
    for (const folder of [used, wanted]) mkdirSync(place.path(folder), { recursive: true });
    const first = await place.open({ directories: [place.path(used)] });
    await expect(place.open({ directories: [place.path(wanted)] })).rejects.toMatchObject({
      code: 'host.locked',
      message: expect.stringMatching(
        `^process ${process.pid} .* is using ${place.path(used)}, .* ${place.path(wanted)}`,
      ),
    });
    expect(existsSync(place.path(wanted, lockFile))).toBe(false);
    await first.close();
    expect((await place.open({ directories: [place.path(wanted)] })).leadership.isLeader()).toBe(true);
  });

  test.each([
    ['beside that of another process', 'outer/one', 'outer/two'],
    ['in a hidden folder of the directory of another process, which reads no hidden folders', 'outer', 'outer/.two'],
    ['with a hidden folder in which another process runs', 'outer/.one/inner', 'outer'],
  ])('%s is not refused', async (_, used, wanted) => {
    const place = new Workplace();
    for (const folder of [used, wanted]) mkdirSync(place.path(folder), { recursive: true });
    await place.open({ directories: [place.path(used)] });
    expect((await place.open({ directories: [place.path(wanted)] })).leadership.isLeader()).toBe(true);
  });

  test('may also run on a directory inside it', async () => {
    const place = new Workplace();
    mkdirSync(place.path('outer/inner'), { recursive: true });
    const host = await place.open({ directories: [place.path('outer'), place.path('outer/inner')] });
    expect(host.leadership.isLeader()).toBe(true);
  });
});

describe('a lock', () => {
  test('keeps out a second holder in the same process, until it is released', async () => {
    const place = new Workplace();
    const lock = await acquire(place);
    await expect(acquire(place)).rejects.toMatchObject({ code: 'host.locked' });
    await lock.release();
    await (await acquire(place)).release();
    expect(existsSync(place.path(lockFile))).toBe(false);
  });

  test('is not held after its release, and no heartbeat follows', async () => {
    const place = new Workplace();
    const lock = await acquire(place);
    expect(lock.held()).toBe(true);
    await lock.release();
    expect(lock.held()).toBe(false);
    expect(place.clock.next()).toBeUndefined();
  });

  test('a lock whose pid belongs to another process is taken over', async () => {
    const place = new Workplace();
    const lock = await acquire(place);
    const holder = JSON.parse(place.read(lockFile));
    await lock.release();
    place.write(lockFile, JSON.stringify({ ...holder, processStart: '1' }));
    expect((await acquire(place)).tookOver).toBe(true);
  });

  test('of a dead process is taken over by exactly one of many that compete, again and again', async () => {
    const place = new Workplace();
    const first = await acquire(place);
    const holder = JSON.parse(place.read(lockFile));
    await first.release();
    for (let round = 1; round <= 200; round++) {
      place.write(lockFile, JSON.stringify({ ...holder, processStart: '1', token: `dead-${round}` }));
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => acquire(place)));
      const held = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
      expect(held.map(({ tookOver }) => tookOver)).toEqual([true]);
      await held[0]?.release();
      expect(
        readdirSync(place.path('.logfleet')).filter((name) => name.startsWith('lock') || name.endsWith('.tmp')),
      ).toEqual([]);
    }
  });

  test('of a dead process is taken over although another process died while taking it over', async () => {
    const place = new Workplace();
    const first = await acquire(place);
    const holder = { ...JSON.parse(place.read(lockFile)), processStart: '1' };
    await first.release();
    place.write(lockFile, JSON.stringify({ ...holder, token: 'dead' }));
    place.write('.logfleet/.lock.dead.claim.tmp', JSON.stringify({ ...holder, token: 'dead-too' }));
    expect((await acquire(place)).tookOver).toBe(true);
  });

  test('of a process on another machine is taken over after this process saw no heartbeat for a while', async () => {
    const place = new Workplace();
    const other = await acquire(place, 'another machine');
    const startMs = place.clock.monotonic();
    const text = place.read(lockFile);
    await other.release();
    place.write(lockFile, text);
    expect((await place.clock.during(acquire(place))).tookOver).toBe(true);
    expect(place.clock.monotonic() - startMs).toBeGreaterThanOrEqual(silenceMs);
  });

  test.each(['', '{', '7', '{"pid":0}', '{"pid":1}'])(
    'that cannot be read is also taken over after a silence: %j',
    async (text) => {
      const place = new Workplace();
      place.write(lockFile, text);
      expect((await place.clock.during(acquire(place))).held()).toBe(true);
    },
  );

  test('of a process on another machine is kept while heartbeats arrive', async () => {
    const place = new Workplace();
    await acquire(place, 'another machine');
    const beat = (second: number) => {
      utimesSync(place.path(lockFile), second, second);
      place.clock.after(lockHeartbeatMs, () => beat(second + 1));
    };
    beat(1_000);
    await expect(place.clock.during(acquire(place))).rejects.toMatchObject({ code: 'host.locked' });
  });

  test('that was taken away is lost, and its new holder keeps it', async () => {
    const place = new Workplace();
    const lock = await acquire(place);
    const reported = new Promise<void>((resolve) => lock.subscribe(resolve));
    const thief = JSON.stringify({ ...JSON.parse(place.read(lockFile)), token: 'thief' });
    place.write(lockFile, thief);
    expect(lock.held()).toBe(true);
    await place.clock.advance(lockHeartbeatMs);
    await reported;
    expect(lock.held()).toBe(false);
    expect(await lock.lost).toMatchObject({
      code: 'host.locked',
      message: expect.stringMatching(`^process ${process.pid} on host .* has taken over this directory .*${lockFile}`),
    });
    await lock.release();
    expect(place.read(lockFile)).toBe(thief);
  });

  test('that another process took before the next heartbeat is not removed by a release', async () => {
    const place = new Workplace();
    const lock = await acquire(place);
    const holder = JSON.stringify({ ...JSON.parse(place.read(lockFile)), token: 'other' });
    place.write(lockFile, holder);
    await lock.release();
    expect(place.read(lockFile)).toBe(holder);
  });

  test('that cannot be updated is reported, and its loss is announced after a silence', async () => {
    const place = new Workplace();
    const log = new RecordingLogger();
    const { leadership } = await place.open({ log });
    const announced: boolean[] = [];
    leadership.subscribe(() => announced.push(leadership.isLeader()));
    const text = place.read(lockFile);
    place.remove(lockFile);
    mkdirSync(place.path(lockFile));
    for (let silentMs = 0; silentMs <= silenceMs + 10_000; silentMs += lockHeartbeatMs)
      await place.clock.advance(lockHeartbeatMs);
    expect(announced).toEqual([false]);
    expect(log.warnings()[0]).toContain('the lock file cannot be updated (EISDIR');
    place.remove(lockFile);
    place.write(lockFile, text);
    await place.clock.advance(lockHeartbeatMs);
    expect([announced, leadership.term()]).toEqual([[false, true], 2]);
  });

  test('is not held while it cannot be checked for a while, and is held again afterwards', async () => {
    const place = new Workplace();
    const host = await place.open();
    const { leadership } = host;
    const reported = new Promise<void>((resolve) => leadership.subscribe(resolve));
    // Simulates a suspended machine: time passes, but no timers fire.
    const asleep = place.clock.monotonic.bind(place.clock);
    place.clock.monotonic = () => asleep() + silenceMs;
    expect(leadership.isLeader()).toBe(false);
    await place.clock.advance(lockHeartbeatMs);
    await reported;
    expect([leadership.isLeader(), leadership.term(), leadership.tookOverByForce()]).toEqual([true, 2, false]);
  });

  test('is held for a limited time from the start of a slow heartbeat', async () => {
    const place = new Workplace();
    const { directory, random } = place;
    const clock = new VirtualClock();
    const lock = await ProcessLock.acquire(new StateDirectory(directory), { clock, random });
    const holder = place.read(lockFile);
    // A read of a named pipe ends only after another process or thread has written to the pipe.
    place.remove(lockFile);
    execFileSync('mkfifo', [place.path(lockFile)]);
    await clock.advance(lockHeartbeatMs + silenceMs);
    await writeFile(place.path(lockFile), holder);
    await settleFiles();
    expect(lock.held()).toBe(false);
    place.remove(lockFile);
  });

  test('of a directory that was moved away is not held after a silence, and is held again when the directory is back', async () => {
    const place = new Workplace();
    place.write('m/web.yaml', '');
    const lock = await ProcessLock.acquire(new StateDirectory(place.path('m')), place);
    renameSync(place.path('m'), place.path('away'));
    await place.clock.advance(lockHeartbeatMs);
    expect(lock.held()).toBe(true);
    await place.clock.advance(silenceMs);
    expect(lock.held()).toBe(false);
    renameSync(place.path('away'), place.path('m'));
    const reported = new Promise<void>((resolve) => lock.subscribe(resolve));
    await place.clock.advance(lockHeartbeatMs);
    await reported;
    expect(lock.held()).toBe(true);
  });

  test('is held again when the directory is back, although a command has created its state folder in the meantime', async () => {
    const place = new Workplace();
    place.write('m/web.yaml', '');
    const lock = await ProcessLock.acquire(new StateDirectory(place.path('m')), place);
    renameSync(place.path('m'), place.path('away'));
    mkdirSync(place.path('m', '.logfleet', 'requests'), { recursive: true });
    for (let silentMs = 0; silentMs <= silenceMs; silentMs += lockHeartbeatMs)
      await place.clock.advance(lockHeartbeatMs);
    expect(lock.held()).toBe(false);
    rmSync(place.path('m'), { recursive: true });
    renameSync(place.path('away'), place.path('m'));
    const reported = new Promise<void>((resolve) => lock.subscribe(resolve));
    await place.clock.advance(lockHeartbeatMs);
    await reported;
    expect(lock.held()).toBe(true);
  });

  test('updates its modification time as a heartbeat', async () => {
    const place = new Workplace();
    const lock = await acquire(place, 'another machine');
    await expect(place.clock.during(acquire(place))).rejects.toMatchObject({ code: 'host.locked' });
    expect(lock.held()).toBe(true);
  });
});
