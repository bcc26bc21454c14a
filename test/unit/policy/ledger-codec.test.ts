/** Tests the text format of the ledger (U1). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogfleetError } from '../../../src/base/errors.ts';
import type { Attempt, Ending, Entry, EntryChange, LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import {
  decodeHead,
  decodeLog,
  encodeEntry,
  encodeHead,
  encodeLog,
  encodeRemoval,
} from '../../../src/policy/ledger/ledger-codec.ts';
import { attempt, endedEntry, ending, entry, epochMs, header, newerVersion, openEntry, target } from './builders.ts';

const takeoverMs = 5_000;

const numbersOf = (logs: number) => ({ logs, memberShards: [1, 2], shardWrites: 3 });

function encode(of: LedgerHeader, entries: readonly Entry[], logs = 0, removed: readonly string[] = []): string {
  const lines = (open: boolean) =>
    entries.filter((one) => (one.open !== undefined) === open).map((one) => encodeEntry(one, of.target));
  return encodeHead(of, numbersOf(logs), lines(true), [...removed.map(encodeRemoval), ...lines(false)]);
}

/**
 * Returns a ledger entry as it is read back after a write, without the data that the ledger does not store: ages, and
 * details of successful upgrades.
 */
function taken(before: Entry): Entry {
  return {
    ...before,
    open: before.open && { ...before.open, sinceMs: takeoverMs, needsGrace: true },
    ending: before.ending && takenEnding(before.ending),
  };
}

function takenEnding(before: Ending): Ending {
  const endedAtMs = Math.round(before.endedAtMs / 1_000) * 1_000;
  const startedAtMs = Math.round(before.startedAtMs / 1_000) * 1_000;
  const isPlain = before.kind === 'updated' && before.toVersion === target;
  const rest = isPlain ? { taskId: undefined, message: '', startedAtMs: endedAtMs, lastSeenAliveMs: undefined } : {};
  return { ...before, endedAtMs, startedAtMs, sinceMs: takeoverMs, ...rest };
}

describe('data that the ledger keeps', () => {
  const word = fc.oneof(fc.string({ maxLength: 30, unit: 'grapheme' }), fc.constantFrom(target, newerVersion));
  const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
  const wall = fc.integer({ min: epochMs, max: epochMs + 86_400_000 });
  const open: fc.Arbitrary<Attempt> = fc.record({
    number: fc.nat(),
    toVersion: word,
    state: fc.constantFrom('intended', 'accepted', 'unknown', 'adopted'),
    taskId: optional(word),
    ours: fc.boolean(),
    probe: fc.boolean(),
    startedAtMs: wall,
    sinceMs: fc.nat(),
    needsGrace: fc.boolean(),
  });
  const ended: fc.Arbitrary<Ending> = fc.record({
    kind: fc.constantFrom(
      'updated',
      'failed',
      'timedOut',
      'refused',
      'offline',
      'invalid',
      'unobservable',
      'died',
      'left',
    ),
    toVersion: word,
    taskId: optional(word),
    message: word,
    startedAtMs: wall,
    endedAtMs: wall,
    sinceMs: fc.nat(),
    lastSeenAliveMs: optional(wall),
  });
  const anyEntry: fc.Arbitrary<Entry> = fc
    .record({
      collectorId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
      before: optional(word),
      used: fc.nat(20),
      drifts: fc.nat(3),
      counted: optional(fc.record({ tally: fc.nat(3), stage: optional(fc.nat(9)) })),
      failureCleared: optional(fc.constant(true as const)),
      isRollback: fc.boolean(),
      open: optional(open),
      ending: optional(ended),
    })
    .map(({ counted, failureCleared, ...others }) => ({
      ...others,
      ...(counted !== undefined && { counted }),
      ...(failureCleared && { failureCleared }),
    }));
  const entries = fc.uniqueArray(anyEntry, { selector: ({ collectorId }) => collectorId, maxLength: 20 });
  const removals = fc.array(
    word.map((id) => `removed ${id}`),
    { maxLength: 5 },
  );
  const removal = (collectorId: string): EntryChange => ({ collectorId, entry: undefined });
  const setting = (one: Entry): EntryChange => ({ collectorId: one.collectorId, entry: one });
  const byId = (list: readonly EntryChange[]) => new Map(list.map(({ collectorId, entry }) => [collectorId, entry]));

  test('U1: a head is read back unchanged, except for ages', () => {
    fc.assert(
      fc.property(entries, fc.nat(64), removals, (list, logs, removed) => {
        const of = header({ attempts: 7, completedAtMs: epochMs });
        const decoded = decodeHead(encode(of, list, logs, removed), takeoverMs);
        expect(decoded.header).toEqual(of);
        expect(decoded).toMatchObject(numbersOf(logs));
        const expected = [...removed.map(removal), ...list.map(taken).map(setting)];
        expect(byId(decoded.changes)).toEqual(byId(expected));
      }),
      { numRuns: 300 },
    );
  });

  test('U1: a log is read back unchanged, except for ages', () => {
    fc.assert(
      fc.property(entries, removals, (list, removed) => {
        const closed = list.map((one) => ({ ...one, open: undefined }));
        const lines = [...closed.map((one) => encodeEntry(one, target)), ...removed.map(encodeRemoval)];
        const text = encodeLog(header(), 0, lines);
        const expected = [...closed.map(taken).map(setting), ...removed.map(removal)];
        expect(decodeLog('log-0', text, header().rolloutId, takeoverMs)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('a header is read with its history', () => {
    const of = header({
      history: [
        {
          id: '1-x',
          targetVersion: 'x',
          startedAtMs: 1,
          endedAtMs: 2,
          outcome: 'Superseded',
          updated: 3,
          failed: 4,
        },
      ],
    });
    expect(decodeHead(encode(of, []), takeoverMs).header).toEqual(of);
  });
});

describe('data that the ledger does not keep', () => {
  test('U5: all ages count from the takeover, and evidence must be G newer', () => {
    const list = [openEntry({ sinceMs: 99_000, probedAtMs: 99_500, silentSinceMs: 3 })];
    const [decoded] = decodeHead(encode(header(), list), takeoverMs).changes;
    expect(decoded?.entry?.open).toEqual({ ...attempt(), sinceMs: takeoverMs, needsGrace: true });
  });

  test('of a successful upgrade, only the success and its time are kept', () => {
    const [decoded] = decodeHead(encode(header(), [endedEntry('updated', { message: 'fine' })]), takeoverMs).changes;
    expect(decoded?.entry?.ending).toEqual(ending('updated', { taskId: undefined, sinceMs: takeoverMs }));
  });
});

test('U1: a ledger of an older format stalls the policy, and the message says to delete it', () => {
  const text = encode(header(), [], 0, []).replace('"format":4', '"format":3');
  expect(() => decodeHead(text, 0)).toThrow(
    /the ledger has format 3, but this version of logfleet reads format 4. Wait until no upgrade is running, and then delete the ledger/,
  );
});

describe('U1: an unreadable ledger stalls the policy, and does not count as empty', () => {
  const whole = encode(header(), [openEntry(), { ...endedEntry('failed'), collectorId: '2' }]);

  test.each<[string, string]>([
    ['nothing', ''],
    ['a truncated text', whole.slice(0, whole.length / 2)],
    ['a page of HTML', '<html></html>'],
    ['null', 'null'],
    ['a list', '[]'],
    ['another format', whole.replace('"format":4', '"format":5')],
    ['no format', '{}'],
    ['only a format', '{"format":4}'],
    ['no open attempts', JSON.stringify({ ...JSON.parse(whole), open: undefined })],
    ['no header', JSON.stringify({ ...JSON.parse(whole), header: undefined })],
    ['invalid lines', JSON.stringify({ ...JSON.parse(whole), ended: [7] })],
    ['invalid lines of open attempts', JSON.stringify({ ...JSON.parse(whole), open: [[['1', null, 1, 0]]] })],
    ['an ending of an unknown kind', whole.replace(/\[1,(\d{10},"77")/, '[42,$1')],
  ])('%s', (_, text) => {
    let thrown: unknown;
    try {
      decodeHead(text, takeoverMs);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'ledger.unreadable',
      reason: 'LedgerUnreadable',
      handling: { kind: 'stall' },
    });
    expect((thrown as LogfleetError).message).toContain(
      'Restore the ledger from a backup, or delete it when no upgrade is running.',
    );
  });

  test.each<[string, string | undefined]>([
    ['is missing', undefined],
    ['belongs to rollout 2-other', encodeLog(header({ rolloutId: '2-other' }), 0, [])],
  ])('a log that %s', (what, text) => {
    expect(() => decodeLog('log-3', text, header().rolloutId, takeoverMs)).toThrow(
      expect.objectContaining({
        code: 'ledger.unreadable',
        message: expect.stringContaining(`the ledger object log-3 ${what}`),
      }),
    );
  });

  test.each(['', 'null', '{"format":4}', '{"format":1,"rolloutId":"1-19.200-1","ended":[7]}'])(
    'a log that is %j',
    (text) => {
      expect(() => decodeLog('log-0', text, header().rolloutId, takeoverMs)).toThrow(
        expect.objectContaining({ code: 'ledger.unreadable' }),
      );
    },
  );
});

test('U1: a successful upgrade takes less than 60 bytes, so a ledger can store 100,000', () => {
  const line = encodeEntry(
    endedEntry('updated', { message: 'x'.repeat(500) }, { collectorId: '9223372036854775807' }),
    target,
  );
  expect(Buffer.byteLength(line)).toBeLessThan(60);
  expect(Buffer.byteLength(encodeEntry(entry(), target))).toBeLessThan(60);
});
