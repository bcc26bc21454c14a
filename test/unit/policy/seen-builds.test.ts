/** Tests the stored times at which builds were first offered. */
import { describe, expect, test } from 'vitest';
import { LogfleetError } from '../../../src/base/errors.ts';
import { SeenBuilds } from '../../../src/policy/rollout/seen-builds.ts';
import { MemoryLedgerStore, owner } from '../../support/memory-ledger-store.ts';

function watcher(store = new MemoryLedgerStore(), isCandidate: (version: string) => boolean = () => true) {
  const seen = new SeenBuilds(store, owner);
  const update = async (wallMs: number, versions: readonly string[], service = 'a') => {
    const builds = versions.map((version, place) => ({ version, latest: place === 0 }));
    return Object.fromEntries(await seen.update({ service, builds, isCandidate, wallMs }));
  };
  return { store, update };
}

describe('U1: the time of a build is stored before it counts', () => {
  test('once for a new build, and not again', async () => {
    const { store, update } = watcher();
    expect(await update(100, ['19.1-1'])).toEqual({ '19.1-1': 100 });
    expect(await update(200, ['19.1-1'])).toEqual({ '19.1-1': 100 });
    expect(await update(300, ['19.2-1', '19.1-1'])).toEqual({ '19.2-1': 300, '19.1-1': 100 });
    expect(store.writes).toEqual(['builds', 'builds']);
  });

  test('and is used by the next process', async () => {
    const { store, update } = watcher();
    await update(100, ['19.1-1']);
    expect(await watcher(store).update(900, ['19.1-1'])).toEqual({ '19.1-1': 100 });
    expect(store.writes).toEqual(['builds']);
  });

  test('and does not count if the write fails; the stored record is then read again', async () => {
    const { store, update } = watcher();
    await update(100, ['19.1-1']);
    store.beforeWrite = () => {
      throw new LogfleetError({ code: 'host.conflict', message: 'it is another', handling: { kind: 'backoff' } });
    };
    await expect(update(200, ['19.1-1', '19.2-1'])).rejects.toMatchObject({ code: 'host.conflict' });
    store.beforeWrite = () => {};
    expect(await update(300, ['19.1-1', '19.2-1'])).toEqual({ '19.1-1': 100, '19.2-1': 300 });
  });

  test('and the second of two writers reads the record of the first', async () => {
    const first = watcher();
    const second = watcher(first.store);
    await first.update(100, ['19.1-1']);
    await second.update(150, ['19.1-1']);
    await first.update(200, ['19.1-1', '19.2-1']);
    await expect(second.update(300, ['19.1-1', '19.3-1'])).rejects.toMatchObject({ code: 'host.conflict' });
    expect(await second.update(400, ['19.1-1', '19.2-1', '19.3-1'])).toEqual({
      '19.1-1': 100,
      '19.2-1': 200,
      '19.3-1': 400,
    });
  });
});

describe('the age of a build starts again', () => {
  test('when a list omits the build and a later list has it again', async () => {
    const { update } = watcher();
    await update(100, ['19.2-1', '19.1-1']);
    expect(await update(200, ['19.2-1'])).toEqual({ '19.2-1': 100 });
    expect(await update(300, ['19.2-1', '19.1-1'])).toEqual({ '19.2-1': 100, '19.1-1': 300 });
  });

  test('not after an empty list, which says nothing about builds', async () => {
    const { store, update } = watcher();
    await update(100, ['19.1-1']);
    await update(200, []);
    expect(await update(300, ['19.1-1'])).toEqual({ '19.1-1': 100 });
    expect(store.writes).toEqual(['builds']);
  });

  test('with another service', async () => {
    const { update } = watcher();
    await update(100, ['19.1-1'], 'a');
    expect(await update(200, [], 'b')).toEqual({});
    expect(await update(200, ['19.1-1'], 'b')).toEqual({ '19.1-1': 200 });
    expect(await update(300, ['19.1-1'], 'a')).toEqual({ '19.1-1': 300 });
  });

  test('when its stored time is in the future', async () => {
    const { store, update } = watcher();
    await update(900, ['19.1-1']);
    expect(await update(500, ['19.1-1'])).toEqual({ '19.1-1': 500 });
    expect(await watcher(store).update(600, ['19.1-1'])).toEqual({ '19.1-1': 500 });
  });

  test.each([
    ['is gone', undefined],
    ['is not JSON', '{'],
    ['is of another format', '{"format":2,"service":"a","seen":[["19.1-1",100]]}'],
    ['is not an object', '7'],
    ['has invalid times', '{"format":1,"service":"a","seen":[["19.1-1","100"]]}'],
    ['has no times', '{"format":1,"service":"a"}'],
  ])('when the shard %s, and the shard is overwritten', async (_, content) => {
    const { store, update } = watcher();
    await update(100, ['19.1-1']);
    if (content === undefined) store.shards.delete('builds');
    else store.shards.set('builds', { content, version: '77' });
    const next = watcher(store);
    expect(await next.update(200, ['19.1-1'])).toEqual({ '19.1-1': 200 });
    expect(await watcher(store).update(300, ['19.1-1'])).toEqual({ '19.1-1': 200 });
  });
});

test("the 100 newest builds are kept: first the latest, then the channel's candidates, then the others", async () => {
  const { update } = watcher(new MemoryLedgerStore(), (version) => version.startsWith('18.'));
  const others = Array.from({ length: 150 }, (_, index) => `19.${index}-1`);
  const kept = Object.keys(await update(100, ['17.1-1', ...others, '18.1-1', '18.2-1', 'nightly']));
  expect(kept).toHaveLength(100);
  expect(kept.slice(0, 5)).toEqual(['17.1-1', '18.2-1', '18.1-1', '19.149-1', '19.148-1']);
});
