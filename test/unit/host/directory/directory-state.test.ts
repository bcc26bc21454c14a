import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sameValue } from '../../../../src/base/canonical-text.ts';
import { createUid, seededRandom, systemRandom } from '../../../../src/base/random.ts';
import { DirectoryView } from '../../../../src/host/directory/directory-view.ts';
import {
  listFolder,
  readIfPresent,
  removeTemporaryFiles,
  writeDurably,
} from '../../../../src/host/directory/durable-file.ts';
import { SerialQueue } from '../../../../src/host/directory/serial-queue.ts';
import { StateDirectory } from '../../../../src/host/directory/state-directory.ts';
import { writeUserRequest } from '../../../../src/host/directory/user-requests.ts';
import { maxShardBytes, type OwnerRef } from '../../../../src/host/host.ts';
import { settle } from '../../../support/virtual-clock.ts';
import { find, get, ownerOf, policy, Workplace } from '../../../support/workplace.ts';

describe('a ledger', () => {
  async function open() {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    return { place, host, owner: ownerOf(get(host, 'web')) };
  }

  test('keeps written content across a restart', async () => {
    const { place, host, owner } = await open();
    expect(await host.ledgers.read(owner, 'attempts')).toBeUndefined();
    const first = await host.ledgers.write(owner, 'attempts', 'one', undefined);
    const version = await host.ledgers.write(owner, 'attempts', 'two "quoted"\n', first);
    await host.ledgers.write(owner, 'rollout', 'three', undefined);
    await host.close();
    const second = await place.open();
    expect(await second.ledgers.read(owner, 'attempts')).toEqual({ content: 'two "quoted"\n', version });
    expect(await second.ledgers.read(owner, 'rollout')).toEqual({ content: 'three', version: '1' });
  });

  test('is written under optimistic lock', async () => {
    const { host, owner } = await open();
    const first = await host.ledgers.write(owner, 'attempts', 'one', undefined);
    await host.ledgers.write(owner, 'attempts', 'two', first);
    for (const expected of [undefined, first, '7']) {
      const late = host.ledgers.write(owner, 'attempts', 'late', expected);
      await expect(late).rejects.toMatchObject({ code: 'host.conflict', handling: { kind: 'backoff' } });
    }
    const absent = host.ledgers.write(owner, 'absent', 'late', '1');
    await expect(absent).rejects.toMatchObject({ code: 'host.conflict' });
    expect((await host.ledgers.read(owner, 'attempts'))?.content).toBe('two');
  });

  test('exactly one of several concurrent writers on one version succeeds', async () => {
    const { host, owner } = await open();
    const writes = ['a', 'b', 'c'].map((content) => host.ledgers.write(owner, 'attempts', content, undefined));
    const results = await Promise.allSettled(writes);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect((await host.ledgers.read(owner, 'attempts'))?.content).toBe('a');
  });

  test('has a maximum size in bytes', async () => {
    const { host, owner } = await open();
    const version = await host.ledgers.write(owner, 'attempts', 'ä'.repeat(maxShardBytes / 2), undefined);
    const beyond = async () => host.ledgers.write(owner, 'attempts', `${'ä'.repeat(maxShardBytes / 2)}x`, version);
    await expect(beyond()).rejects.toMatchObject({ code: 'ledger.full', handling: { kind: 'stall' } });
  });

  test('that was damaged by hand stalls the policy and does not count as empty', async () => {
    const { place, host, owner } = await open();
    await host.ledgers.write(owner, 'attempts', 'one', undefined);
    place.write(`.logfleet/ledgers/CollectorVersionPolicy/logging/web/${owner.uid}/attempts.json`, '{"version":"1"}');
    await expect(host.ledgers.read(owner, 'attempts')).rejects.toMatchObject({ code: 'ledger.unreadable' });
    await expect(host.ledgers.write(owner, 'attempts', 'x', undefined)).rejects.toMatchObject({
      code: 'ledger.unreadable',
    });
  });

  test('a half-written file is ignored', async () => {
    const { place, host, owner } = await open();
    await host.ledgers.write(owner, 'attempts', 'one', undefined);
    const folder = `.logfleet/ledgers/CollectorVersionPolicy/logging/web/${owner.uid}`;
    place.write(`${folder}/.attempts.json.4711.0.tmp`, '{"version":"2","con');
    expect(await host.ledgers.read(owner, 'attempts')).toEqual({ content: 'one', version: '1' });
    await host.close();
    await place.open();
    expect(readdirSync(place.path(folder))).toEqual(['attempts.json']);
  });

  test('is never written outside its folder, even with an unusual name', async () => {
    const { host, owner } = await open();
    const write = async (to: OwnerRef, shard: string) => host.ledgers.write(to, shard, 'x', undefined);
    await expect(write(owner, '../../x')).rejects.toMatchObject({ code: 'bug.assertion' });
    await expect(write({ ...owner, uid: '../x' }, 'x')).rejects.toMatchObject({ code: 'host.gone' });
  });
});

describe('paths of state', () => {
  const state = new StateDirectory('/manifests');
  const key = { namespace: 'logging', name: 'web' };

  test.each(['..', '.', '', 'a/b', '.hidden', 'UPPER', 'a_b', 'a\u0000', `${'x'.repeat(254)}`])(
    'a name %j has no path',
    (name) => {
      expect(() => state.statusFile('CollectorVersionPolicy', { ...key, name })).toThrow(/not a valid resource name/);
      expect(() => state.requestFile('CollectorVersionPolicy', { ...key, namespace: name })).toThrow(
        /not a valid resource name/,
      );
      expect(() => state.requestFile('CollectorVersionPolicy', key, name)).toThrow(/not an annotation of logfleet/);
      expect(() => state.ledgersFolder('CollectorVersionPolicy', { ...key, name })).toThrow(
        /not a valid resource name/,
      );
    },
  );

  test('differ for different resources', () => {
    const one = state.requestFile('CollectorVersionPolicy', { namespace: 'a', name: 'b.c' });
    const other = state.requestFile('CollectorVersionPolicy', { namespace: 'a.b', name: 'c' });
    expect(one).not.toBe(other);
    expect(() => state.ledgerFolder({ kind: 'CollectorVersionPolicy', ...key, uid: '..' })).toThrow(/is no uid/);
  });
});

describe('durable files', () => {
  test('writes replace the former content, create folders, and leave no other file', async () => {
    const place = new Workplace();
    await writeDurably(place.path('a/b/file'), 'one');
    await writeDurably(place.path('a/b/file'), 'two');
    expect(readdirSync(place.path('a/b'))).toEqual(['file']);
    expect(await readIfPresent(place.path('a/b/file'))).toBe('two');
    expect(await readIfPresent(place.path('a/c/file'))).toBeUndefined();
  });

  test('a failed write leaves the former content, and names the file', async () => {
    const place = new Workplace();
    place.write('file', 'one');
    mkdirSync(place.path('folder/inner'), { recursive: true });
    await expect(writeDurably(place.path('file/below'), 'x')).rejects.toMatchObject({ code: 'host.disk' });
    await expect(writeDurably(place.path('folder'), 'x')).rejects.toMatchObject({
      code: 'host.disk',
      handling: { kind: 'backoff' },
      message: expect.stringContaining(place.path('folder')),
    });
    expect(readdirSync(place.directory).sort()).toEqual(['file', 'folder']);
    expect(place.read('file')).toBe('one');
  });

  test('a folder that cannot be created, as in /proc, is an error', async () => {
    await expect(writeDurably('/proc/none/file', 'x')).rejects.toMatchObject({
      code: 'host.disk',
      message: expect.stringContaining('/proc/none'),
    });
  });

  test('readers get either the complete old text or the complete new text', async () => {
    const place = new Workplace();
    const texts = ['a'.repeat(200_000), 'b'.repeat(200_000)];
    await writeDurably(place.path('file'), texts[0] as string);
    let writing = true;
    const writer = (async () => {
      for (let round = 1; round <= 20; round++) await writeDurably(place.path('file'), texts[round % 2] as string);
      writing = false;
    })();
    while (writing) {
      expect(texts).toContain(readFileSync(place.path('file'), 'utf8'));
      await settle();
    }
    await writer;
  });

  test('leftovers are removed at every depth, and no other files', async () => {
    const place = new Workplace();
    for (const file of ['.x.json.1.2.tmp', 'a/.y.tmp', 'a/y.json', 'a/z.tmp', 'a/.hidden']) place.write(file, '');
    await removeTemporaryFiles(place.directory);
    await removeTemporaryFiles(place.path('absent'));
    expect(existsSync(place.path('.x.json.1.2.tmp'))).toBe(false);
    expect(readdirSync(place.path('a')).sort()).toEqual(['.hidden', 'y.json', 'z.tmp']);
    expect(await listFolder(place.path('a'))).toEqual(['y.json', 'z.tmp']);
  });
});

describe('a view', () => {
  const openView = (place: Workplace) =>
    DirectoryView.open({ directories: [place.directory], clock: place.clock, random: place.random });

  test('shows manifests that no operator has read, and writes nothing', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    place.write('bad.yaml', '{{{');
    const view = await openView(place);
    expect(get(view, 'web').status).toBeUndefined();
    expect(view.problems()[0]?.file).toBe(place.path('bad.yaml'));
    expect(existsSync(place.path('.logfleet'))).toBe(false);
  });

  test('reads the ledgers of an operator beside it, and its Secrets', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    place.write('secret.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {accessId: me}\n');
    const host = await place.open();
    const owner = ownerOf(get(host, 'web'));
    await host.ledgers.write(owner, 'head', 'what is remembered', undefined);
    const view = await openView(place);
    expect((await view.ledgers.read(owner, 'head'))?.content).toBe('what is remembered');
    expect(await view.ledgers.read({ ...owner, uid: createUid(systemRandom) }, 'head')).toBeUndefined();
    expect(view.secret({ namespace: 'default', name: 'key' })?.get('accessId')?.reveal()).toBe('me');
    expect(view.secret({ namespace: 'default', name: 'none' })).toBeUndefined();
  });

  test('shows the state that a running operator has written', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const view = await openView(place);
    expect(get(view, 'web')).toEqual(get(host, 'web'));
    const status = { targetVersion: '1' } as never;
    const written = await host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status });
    await view.refresh();
    expect(get(view, 'web')).toEqual(written);
    place.remove('web.yaml');
    await view.refresh();
    expect(find(view, 'web')).toBeUndefined();
    expect(existsSync(place.path('.logfleet/status/CollectorVersionPolicy/logging/web.json'))).toBe(true);
  });

  test('follows until the signal, and reports changes only', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const host = await place.open();
    const view = await openView(place);
    const stop = new AbortController();
    const shown: (string | undefined)[] = [];
    let onShown = () => {};
    const showing = () =>
      new Promise<void>((resolve) => {
        onShown = resolve;
      });
    const first = showing();
    const following = view.follow(
      'CollectorVersionPolicy',
      ([resource]) => {
        shown.push(resource?.status?.targetVersion);
        onShown();
      },
      stop.signal,
    );
    await first;
    const second = showing();
    const status = { targetVersion: '1' } as never;
    await host.writeStatus('CollectorVersionPolicy', { ...get(host, 'web'), status });
    let isShown = false;
    void second.then(() => {
      isShown = true;
    });
    while (!isShown) await place.clock.advance(500);
    stop.abort();
    await following;
    expect(shown).toEqual([undefined, '1']);
  });

  test('sees requests before the operator does', async () => {
    const place = new Workplace();
    place.write('web.yaml', policy('web'));
    const key = { namespace: 'logging', name: 'web' };
    await writeUserRequest(place.directory, 'CollectorVersionPolicy', key, { 'logfleet.dev/paused': 'true' });
    expect(get(await openView(place), 'web').metadata.annotations).toEqual({ 'logfleet.dev/paused': 'true' });
  });
});

test('tasks of one key never overlap, tasks of different keys do, and a failure affects no other task', async () => {
  const tasks = new SerialQueue();
  const order: string[] = [];
  const task = (name: string) => async () => {
    order.push(`${name} begins`);
    await settle();
    order.push(`${name} ends`);
    if (name === 'a1') throw new Error('on purpose');
    return name;
  };
  const runs = [tasks.run('a', task('a1')), tasks.run('a', task('a2')), tasks.run('b', task('b1'))];
  const results = await Promise.allSettled(runs);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(order.filter((step) => step.startsWith('a'))).toEqual(['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends']);
  expect(order.indexOf('b1 begins')).toBeLessThan(order.indexOf('a1 ends'));
  await tasks.drained();
});

test('uids have the form of version 4 and differ', () => {
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  fc.assert(fc.property(fc.nat(), (seed) => form.test(createUid(seededRandom(seed)))));
  expect(createUid(systemRandom)).not.toBe(createUid(systemRandom));
});

test('two values are equal in any order of their members', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
      expect(sameValue(left, structuredClone(left))).toBe(true);
      const sameText = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
      expect(sameValue(left, right)).toBe(sameText);
    }),
  );
  expect(sameValue({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(sameValue({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
  expect(sameValue([1, 2], [2, 1])).toBe(false);
  expect(sameValue({ a: undefined }, { b: undefined })).toBe(true);
  expect(sameValue([], {})).toBe(false);
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
