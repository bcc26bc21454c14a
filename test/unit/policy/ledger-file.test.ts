/** Tests that a new process can read the previous process's ledger, even after a crash (U1). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxShardBytes } from '../../../src/host/host.ts';
import { type Entry, type EntryChange, Ledger } from '../../../src/policy/ledger/ledger.ts';
import { LedgerFile } from '../../../src/policy/ledger/ledger-file.ts';
import { MemoryLedgerStore, owner } from '../../support/memory-ledger-store.ts';
import { endedEntry, entry, epochMs, header, newerVersion, openEntry, stageRecord, target } from './builders.ts';

const change = (one: Entry): EntryChange => ({ collectorId: one.collectorId, entry: one });
const forget = (collectorId: string): EntryChange => ({ collectorId, entry: undefined });
const failed = (id: number | string, message = 'disk full') => ({
  ...endedEntry('failed', { message, startedAtMs: epochMs, endedAtMs: epochMs }),
  collectorId: String(id),
});

function book(store = new MemoryLedgerStore(), ledger = new Ledger(header())) {
  const file = new LedgerFile(store, owner);
  file.restart(ledger);
  const save = (...changes: readonly EntryChange[]) => {
    ledger.apply(changes);
    return file.save(ledger, changes);
  };
  return { store, ledger, file, save };
}

function start({ ledger, file }: ReturnType<typeof book>, members: readonly string[]) {
  const { stages = [] } = ledger.header;
  const record = stageRecord(`stage-${stages.length + 1}`, { members: members.length });
  ledger.setHeader({ ...ledger.header, stages: [...stages, record] }, members);
  return file.save(ledger, [], members);
}

async function reread(store: MemoryLedgerStore): Promise<Ledger> {
  const ledger = await new LedgerFile(store, owner).load(0);
  if (!ledger) throw new Error('there is no ledger');
  return ledger;
}

const ids = (ledger: Ledger) => [...ledger.entries()].map(({ collectorId }) => collectorId).sort();

/** Number of failed attempts that `fill` adds at a time. */
const batch = 250;

/** Adds failed attempts until the `head` object is full and the ledger needs a second object. */
async function fill({ save, store }: ReturnType<typeof book>, from: number): Promise<number> {
  const flushes = store.writes.filter((name) => name !== 'head').length;
  for (let id = from; ; id += batch) {
    await save(...Array.from({ length: batch }, (_, index) => change(failed(id + index, 'x'.repeat(200)))));
    if (store.writes.filter((name) => name !== 'head').length > flushes) return id + batch;
  }
}

test('U1: without a write there is no ledger', async () => {
  expect(await new LedgerFile(new MemoryLedgerStore(), owner).load(0)).toBeUndefined();
});

test('U1: the next process reads what this process wrote', async () => {
  const { store, ledger, save } = book();
  ledger.setHeader(header({ attempts: 4 }));
  await save(change(openEntry()), change(failed(2)));
  await save(change({ ...failed('1'), used: 2 }), forget('2'));
  await save(change(failed(3)));
  const read = await reread(store);
  expect(read.header).toEqual(header({ attempts: 4 }));
  expect(ids(read)).toEqual(['1', '3']);
  expect(read.entry('1')).toMatchObject({ used: 2, open: undefined, ending: { kind: 'failed', message: 'disk full' } });
  expect(store.writes).toEqual(['head', 'head', 'head']);
});

describe('U1: ended attempts move to logs that are written once', () => {
  test('before the head becomes large, and all of them are read again', async () => {
    const one = book();
    const next = await fill(one, 1);
    expect(one.store.writes).toContain('log-0');
    expect(Buffer.byteLength(one.store.shards.get('head')?.content ?? '')).toBeLessThan(maxShardBytes / 4);
    expect((await reread(one.store)).size).toBe(next - 1);
    const log = one.store.shards.get('log-0');
    await fill(one, next);
    expect(one.store.shards.has('log-1')).toBe(true);
    expect(one.store.shards.get('log-0')).toBe(log);
  });

  test('but open attempts stay in the head', async () => {
    const one = book();
    await one.save(change({ ...openEntry(), collectorId: '0' }));
    await fill(one, 1);
    expect(one.store.shards.get('head')?.content).toContain('"open":[[["0"');
    expect((await reread(one.store)).open().size).toBe(1);
  });

  test('and a newer entry in the head takes precedence over a log', async () => {
    const one = book();
    await fill(one, 1);
    await one.save(change({ ...openEntry({}, { used: 2 }), collectorId: '7' }));
    expect((await reread(one.store)).entry('7')).toMatchObject({ used: 2, open: { state: 'accepted' } });
    await one.save(change({ ...failed(7, 'again'), used: 2 }));
    expect((await reread(one.store)).entry('7')?.ending?.message).toBe('again');
  });

  test('and a later log takes precedence over an earlier one', async () => {
    const one = book();
    const next = await fill(one, 1);
    await one.save(change(failed(7, 'again')));
    await fill(one, next);
    expect(one.store.shards.get('head')?.content).not.toContain('again');
    expect((await reread(one.store)).entry('7')?.ending?.message).toBe('again');
  });

  test('and a removed collector stays removed until it gets another entry', async () => {
    const one = book();
    const next = await fill(one, 1);
    await one.save(forget('7'));
    expect((await reread(one.store)).entry('7')).toBeUndefined();
    await fill(one, next);
    expect((await reread(one.store)).entry('7')).toBeUndefined();
    await one.save(change(failed(7, 'again')));
    expect((await reread(one.store)).entry('7')?.ending?.message).toBe('again');
    await fill(one, 2 * next);
    expect((await reread(one.store)).entry('7')?.ending?.message).toBe('again');
  });

  test('even if a process that has only read the ledger removes it', async () => {
    const one = book();
    await fill(one, 1);
    const file = new LedgerFile(one.store, owner);
    const ledger = (await file.load(0)) as Ledger;
    ledger.apply([forget('7')]);
    await file.save(ledger, [forget('7')]);
    expect((await reread(one.store)).entry('7')).toBeUndefined();
  });
});

describe('U1: one decision about tens of thousands of collectors', () => {
  const many = Array.from({ length: 40_000 }, (_, index) => String(100_000_000 + index));
  const largest = ({ store }: ReturnType<typeof book>) =>
    Math.max(...[...store.shards.values()].map(({ content }) => Buffer.byteLength(content)));

  test('is stored in several logs', async () => {
    const one = book();
    await one.save(...many.map((id) => change(failed(id))));
    expect(one.store.writes.filter((name) => name !== 'head').length).toBeGreaterThan(1);
    expect(largest(one)).toBeLessThanOrEqual(maxShardBytes);
    expect(ids(await reread(one.store))).toEqual(many);
  });

  test('is stored as a whole or not at all', async () => {
    const one = book();
    await one.save(change(openEntry()));
    one.store.beforeWrite = (name) => {
      if (name === 'log-1') throw new Error('killed');
    };
    await expect(one.save(forget('1'), ...many.map((id) => change(failed(id))))).rejects.toThrow('killed');
    expect(ids(await reread(one.store))).toEqual(['1']);
  });

  test('that removes their entries leaves room for many more decisions', async () => {
    const one = book();
    await one.save(...many.map((id) => change(failed(id))));
    await one.save(...many.map(forget));
    expect((await reread(one.store)).size).toBe(0);
    const logs = one.store.shards.size;
    for (let index = 0; index < 2_000; index += 4) {
      await one.save(...many.slice(index, index + 4).map((id) => change(failed(id))));
    }
    expect(one.store.shards.size - logs).toBeLessThan(3);
    expect(one.file.full).toBe(false);
    expect(ids(await reread(one.store))).toEqual(many.slice(0, 2_000));
  });
});

test('U1: the first write of a ledger keeps the header that was only noted before', async () => {
  const one = book();
  const completed = header({ completedAtMs: epochMs });
  one.ledger.setHeader(completed);
  one.file.note(completed);
  one.store.beforeWrite = (name) => {
    if (name === 'members-0-0') throw new Error('killed');
  };
  await expect(start(one, ['1'])).rejects.toThrow('killed');
  expect((await reread(one.store)).header).toEqual({ ...completed, stages: [] });
});

test('U1: tens of thousands of removals in the head of an earlier version of logfleet fit into a write', async () => {
  const one = book();
  const forgotten = Array.from({ length: 40_000 }, (_, index) => String(100_000_000 + index));
  await one.save(...forgotten.map((id) => change(failed(id))));
  const head = one.store.shards.get('head');
  const content = head?.content.replace('{', `{"forgotten":${JSON.stringify(forgotten)},`) ?? '';
  one.store.shards.set('head', { version: '', ...head, content });
  const file = new LedgerFile(one.store, owner);
  const ledger = (await file.load(0)) as Ledger;
  ledger.apply([change(failed(1))]);
  await file.save(ledger, [change(failed(1))]);
  expect(ids(await reread(one.store))).toEqual(['1']);
});

test('U1: removals in the head of an earlier version of logfleet still count', async () => {
  const one = book();
  await fill(one, 1);
  const head = one.store.shards.get('head');
  const content = head?.content.replace('{', '{"forgotten":["7"],') ?? '';
  one.store.shards.set('head', { version: '', ...head, content });
  const read = await reread(one.store);
  expect(['7', '8'].map((id) => read.entry(id)?.ending?.kind)).toEqual([undefined, 'failed']);
});

describe('U1: another rollout', () => {
  test('begins with the open attempts, and without other entries of the former rollout', async () => {
    const one = book();
    await fill(one, 1);
    await one.save(change({ ...openEntry(), collectorId: '0' }));
    const next = header({ rolloutId: `2-${newerVersion}`, rolloutNumber: 2, target: newerVersion });
    one.ledger.begin(next);
    one.file.restart(one.ledger);
    await one.save();
    const read = await reread(one.store);
    expect(read.header).toEqual(next);
    expect(ids(read)).toEqual(['0']);
  });

  test('overwrites the logs of the former rollout', async () => {
    const one = book();
    const end = await fill(one, 1);
    one.ledger.begin(header({ rolloutId: '2-x', rolloutNumber: 2, target: 'x' }));
    one.file.restart(one.ledger);
    await one.save();
    await fill(one, end);
    const read = await reread(one.store);
    expect(read.size).toBe(one.ledger.size);
    expect(read.entry('1')).toBeUndefined();
  });

  test('overwrites no log of the former rollout before its own head is written', async () => {
    const one = book();
    await fill(one, 1);
    one.ledger.begin(header({ rolloutId: '2-x', rolloutNumber: 2, target: 'x' }));
    one.file.restart(one.ledger);
    one.store.beforeWrite = (name) => {
      if (name === 'head') throw new Error('killed');
    };
    const large = Array.from({ length: 1_000 }, (_, index) => change(failed(50_000 + index, 'y'.repeat(250))));
    await expect(one.save(...large)).rejects.toThrow('killed');
    one.store.beforeWrite = () => {};
    expect((await reread(one.store)).entry('1')?.ending?.kind).toBe('failed');
  });
});

describe('U1: a log that the head names', () => {
  const spoilt = async (spoil: (one: Awaited<ReturnType<typeof book>>) => void) => {
    const one = book();
    await fill(one, 1);
    spoil(one);
    return new LedgerFile(one.store, owner).load(0);
  };

  test('and that is missing makes the ledger unreadable, because exhausted collectors would be retried', async () => {
    await expect(spoilt(({ store }) => store.shards.delete('log-0'))).rejects.toMatchObject({
      code: 'ledger.unreadable',
      handling: { kind: 'stall' },
      message: expect.stringContaining('the ledger object log-0 is missing'),
    });
  });

  test('and that belongs to another rollout makes the ledger unreadable', async () => {
    await expect(
      spoilt(({ store }) => {
        const log = store.shards.get('log-0');
        const content = log?.content.replace(`1-${target}`, '7-x') ?? '';
        store.shards.set('log-0', { version: '', ...log, content });
      }),
    ).rejects.toMatchObject({
      code: 'ledger.unreadable',
      message: expect.stringContaining(`the ledger object log-0 belongs to rollout 7-x, not to 1-${target}`),
    });
  });
});

describe('U1: the collectors of a stage', () => {
  test('are written once when the stage starts, and are read by the next process', async () => {
    const one = book();
    await start(one, ['1', '2']);
    await one.save(change(openEntry()));
    await start(one, ['3']);
    await one.save(change(failed('1')));
    const others = one.store.writes.filter((name) => name !== 'head');
    expect(others).toEqual(['members-0-0', 'members-1-0']);
    const read = await reread(one.store);
    expect(['1', '2', '3', '4'].map((id) => read.listedIn(id))).toEqual([0, 0, 1, undefined]);
  });

  test('are divided into shards of at most 512 KiB', async () => {
    const many = Array.from({ length: 60_000 }, (_, index) => `10000000000${index}`);
    const one = book();
    await start(one, many);
    expect(one.store.writes).toEqual(['head', 'members-0-0', 'members-0-1', 'members-0-2', 'head']);
    const read = await reread(one.store);
    expect(many.every((id) => read.listedIn(id) === 0)).toBe(true);
  });

  test.each(['members-0-1', 'head'])(
    'count only with the head: after a crash before %s, the next process chooses others',
    async (crash) => {
      const one = book();
      await one.save(change(openEntry()));
      one.store.beforeWrite = (name) => {
        if (name === crash && one.store.writes.includes('members-0-0')) throw new Error('killed');
      };
      const many = Array.from({ length: 30_000 }, (_, index) => `10000000000${index}`);
      await expect(start(one, many)).rejects.toThrow('killed');
      one.store.beforeWrite = () => {};
      const file = new LedgerFile(one.store, owner);
      const ledger = (await file.load(0)) as Ledger;
      expect(ledger.header.stages ?? []).toEqual([]);
      expect(ledger.listedIn('100000000000')).toBeUndefined();
      await start({ ...one, ledger, file }, ['7']);
      const read = await reread(one.store);
      expect([read.listedIn('7'), read.listedIn('100000000000')]).toEqual([0, undefined]);
    },
  );

  test('of the next rollout replace those of the former one', async () => {
    const one = book();
    await start(one, ['1']);
    one.ledger.begin(header({ rolloutId: `2-${newerVersion}`, target: newerVersion }));
    one.file.restart(one.ledger);
    await start(one, ['2']);
    const read = await reread(one.store);
    expect([read.listedIn('1'), read.listedIn('2')]).toEqual([undefined, 0]);
  });

  test('are not read any more after the stage has started again without any collector', async () => {
    const one = book();
    await start(one, ['1', '2']);
    one.ledger.setHeader({ ...one.ledger.header, stages: [] });
    await one.save();
    await start(one, []);
    expect((await reread(one.store)).listedIn('1')).toBeUndefined();
  });

  test('of a stage that starts again after a retry replace those of its first start', async () => {
    const one = book();
    await start(one, ['1', '2']);
    one.ledger.setHeader({ ...one.ledger.header, stages: [] });
    await one.save();
    await start(one, ['2', '3']);
    const read = await reread(one.store);
    expect(['1', '2', '3'].map((id) => read.listedIn(id))).toEqual([undefined, 0, 0]);
  });

  test.each<[string, (one: ReturnType<typeof book>) => void, string]>([
    ['is gone', ({ store }) => store.shards.delete('members-0-0'), 'the ledger object members-0-0 is missing'],
    [
      'is of another rollout',
      ({ store }) =>
        store.shards.set('members-0-0', {
          version: '9',
          content: JSON.stringify({ format: 4, rolloutId: '7-x', members: ['1'] }),
        }),
      `the ledger object members-0-0 belongs to rollout 7-x, not to 1-${target}`,
    ],
  ])('make the ledger unreadable when their shard %s', async (_, spoil, why) => {
    const one = book();
    await start(one, ['1']);
    spoil(one);
    const message = expect.stringContaining(why);
    await expect(new LedgerFile(one.store, owner).load(0)).rejects.toMatchObject({
      code: 'ledger.unreadable',
      message,
    });
  });
});

describe('U1: a process that ends between two writes', () => {
  /** Makes the write of the ledger object `shard` fail, as if the process ended before this write. */
  async function cut(shard: string) {
    const one = book();
    await one.save(change({ ...openEntry(), collectorId: '0' }));
    let armed = false;
    one.store.beforeWrite = (name) => {
      if (name === 'log-0') armed = true;
      if (armed && name === shard) throw new Error('killed');
    };
    await expect(fill(one, 1)).rejects.toThrow('killed');
    one.store.beforeWrite = () => {};
    return one;
  }

  test.each(['log-0', 'head'])(
    'at the write of %s during a move, loses nothing that was written before',
    async (shard) => {
      const one = await cut(shard);
      const read = await reread(one.store);
      expect(read.size).toBe(one.ledger.size - batch);
      expect(read.open().size).toBe(1);
    },
  );

  test('after the log and before the head: the next process writes the log again', async () => {
    const one = await cut('head');
    const file = new LedgerFile(one.store, owner);
    const ledger = (await file.load(0)) as Ledger;
    const changes = Array.from({ length: 800 }, (_, index) => change(failed(50_000 + index, 'y'.repeat(200))));
    ledger.apply(changes);
    await file.save(ledger, changes);
    expect(ids(await reread(one.store))).toEqual(ids(ledger));
  });
});

test('U1: a write that is based on an outdated ledger is refused', async () => {
  const store = new MemoryLedgerStore();
  const first = book(store);
  await first.save(change(failed(1)));
  const second = new LedgerFile(store, owner);
  const theirs = (await second.load(0)) as Ledger;
  await first.save(change(failed(2)));
  await expect(second.save(theirs, [change(failed(3))])).rejects.toMatchObject({ code: 'host.conflict' });
  expect(ids(await reread(store))).toEqual(['1', '2']);
  await expect(book(store).save(change(failed(9)))).rejects.toMatchObject({ code: 'host.conflict' });
});

describe('U1: a former leader that continues', () => {
  /**
   * Freezes a former leader while it is storing the start of a stage. Meanwhile, a new leader stores the same stage
   * with another collector.
   */
  async function frozenAt(call: 'read' | 'write', shard: string) {
    const store = new MemoryLedgerStore();
    const former = book(store);
    await former.save();
    const next = new LedgerFile(store, owner);
    const theirs = (await next.load(0)) as Ledger;
    let leader: unknown = 'not started';
    const wake = async (name: string) => {
      if (name !== shard || leader !== 'not started') return;
      leader = undefined;
      leader = await start({ ...former, ledger: theirs, file: next }, ['2']).catch((error) => error);
    };
    const plain = { read: store.read.bind(store), write: store.write.bind(store) };
    store.read = async (...of) => {
      if (call === 'read') await wake(of[1]);
      return plain.read(...of);
    };
    store.write = async (...of) => {
      if (call === 'write') await wake(of[1]);
      return plain.write(...of);
    };
    const outcome = await start(former, ['1']).catch((error) => error);
    return { read: await reread(store), leader, former: outcome };
  }

  test.each([
    ['read', 'members-0-0'],
    ['write', 'head'],
  ] as const)('before its %s of %s cannot replace the members that the next leader stored', async (call, shard) => {
    const { read, leader, former } = await frozenAt(call, shard);
    expect(leader).toBeUndefined();
    expect(former).toMatchObject({ code: 'host.conflict' });
    expect(['1', '2'].map((id) => read.listedIn(id))).toEqual([undefined, 0]);
  });

  test('before its write of members-0-0 prevents the write of a leader that knows only the former head', async () => {
    const { read, leader } = await frozenAt('write', 'members-0-0');
    expect(leader).toMatchObject({ code: 'host.conflict' });
    expect(['1', '2'].map((id) => read.listedIn(id))).toEqual([0, undefined]);
  });
});

describe('U1: a full ledger', () => {
  test('is reported only when the logs are full', async () => {
    const one = book();
    let next = 1;
    for (let log = 0; log < 3; log++) next = await fill(one, next);
    expect(one.file.full).toBe(false);
  });

  test('is reported when the head takes three quarters of a shard, before a write is refused', async () => {
    const one = book();
    for (let id = 1; !one.file.full; id += 20) {
      const batch = Array.from({ length: 20 }, (_, index) => ({
        ...openEntry({ taskId: 't'.repeat(200) }),
        collectorId: String(id + index),
      }));
      await one.save(...batch.map(change));
    }
    const bytes = Buffer.byteLength(one.store.shards.get('head')?.content ?? '');
    expect([...one.store.shards.keys()]).toEqual(['head']);
    expect(bytes).toBeGreaterThan(maxShardBytes / 2);
    expect(bytes).toBeLessThan(maxShardBytes * 0.8);
  });

  test('is not reported while ended attempts can move to a log', async () => {
    const one = book();
    const open = (id: number): Entry => ({ ...openEntry({ taskId: 't'.repeat(270) }), collectorId: String(id) });
    await one.save(...Array.from({ length: 1_000 }, (_, id) => change(open(id))));
    const openBytes = Buffer.byteLength(one.store.shards.get('head')?.content ?? '');
    expect(openBytes).toBeGreaterThan(0.6 * maxShardBytes);
    for (let id = 0; id < 2_000; id += 20) {
      const next = Array.from({ length: 20 }, (_, index) => id + index);
      await one.save(...next.flatMap((each) => [change(failed(each, 'x'.repeat(200))), change(open(each + 1_000))]));
      expect(one.file.full).toBe(false);
    }
    expect((await reread(one.store)).size).toBe(3_000);
  });

  test('is recognized by a process that has only read it', async () => {
    const one = book();
    for (let id = 1; !one.file.full; id += 20) {
      const batch = Array.from({ length: 20 }, (_, index) => ({
        ...openEntry({ taskId: 't'.repeat(200) }),
        collectorId: String(id + index),
      }));
      await one.save(...batch.map(change));
    }
    const file = new LedgerFile(one.store, owner);
    await file.load(0);
    expect(file.full).toBe(true);
  });
});

test('U1: the next process reads any saved ledger as it was', async () => {
  const id = fc.integer({ min: 1, max: 12 });
  const step = fc.record({ id, kind: fc.constantFrom('open', 'end', 'forget', 'restart', 'reopen', 'large') });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let { store, ledger, file } = book();
      let rollout = 1;
      let fresh = 100;
      for (const { id, kind } of steps) {
        const changes: EntryChange[] = [];
        if (kind === 'open') changes.push(change({ ...openEntry(), collectorId: String(id) }));
        if (kind === 'end') changes.push(change(failed(id, `m${id}`)));
        if (kind === 'forget') changes.push(forget(String(id)));
        if (kind === 'large') {
          for (let more = 0; more < 700; more++) changes.push(change(failed(fresh++, 'z'.repeat(200))));
        }
        if (kind === 'restart') {
          rollout++;
          ledger.begin(header({ rolloutId: `${rollout}-x`, rolloutNumber: rollout }));
          file.restart(ledger);
        }
        if (kind === 'reopen') {
          file = new LedgerFile(store, owner);
          ledger = (await file.load(0)) ?? ledger;
        }
        ledger.apply(changes);
        await file.save(ledger, changes);
        const read = await reread(store);
        expect(ids(read)).toEqual(ids(ledger));
        expect([...read.open().keys()].sort()).toEqual([...ledger.open().keys()].sort());
        expect(read.entry(String(id))?.ending?.message).toBe(ledger.entry(String(id))?.ending?.message);
      }
    }),
    { numRuns: 60 },
  );
});

test('an entry without an open or ended attempt is kept', async () => {
  const one = book();
  await one.save(change(entry({ drifts: 1 })));
  expect((await reread(one.store)).entry('1')).toEqual(entry({ drifts: 1 }));
});

test('U1: shards that a former leader replaces during a read are a conflict, not an unreadable ledger', async () => {
  const former = book();
  const next = await fill(former, 1);
  const { store } = former;
  const read = store.read.bind(store);
  store.read = async (_, shard) => {
    const stored = await read(owner, shard);
    if (shard !== 'head' || former.ledger.header.rolloutNumber === 2) return stored;
    // Between two reads by the new leader, the former leader begins another rollout.
    former.ledger.begin(header({ rolloutId: '2-x', rolloutNumber: 2, target: 'x' }));
    former.file.restart(former.ledger);
    await former.save();
    await fill(former, next);
    return stored;
  };
  await expect(new LedgerFile(store, owner).load(0)).rejects.toMatchObject({
    code: 'host.conflict',
    handling: { kind: 'backoff' },
  });
  expect(ids(await reread(store))).toEqual(ids(former.ledger));
});

test('U1: a shard of another kind is neither read as a log nor overwritten', async () => {
  const one = book();
  await one.store.write(owner, 'builds', 'not of the ledger', undefined);
  const { file } = book(one.store);
  expect(await file.load(0)).toBeUndefined();
  await one.save(change(failed(1)));
  const ledger = await reread(one.store);
  expect(ids(ledger)).toEqual(['1']);
  const later = new LedgerFile(one.store, owner);
  await later.load(0);
  later.restart(ledger);
  await later.save(ledger, [change(openEntry())]);
  expect(one.store.shards.get('builds')?.content).toBe('not of the ledger');
  expect(one.store.writes).toEqual(['builds', 'head', 'head']);
});
