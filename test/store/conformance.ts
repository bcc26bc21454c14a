/** Test suite that every export destination must pass. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ExportLayout } from '../../src/destination/export-layout.ts';
import { checkFiles, listFiles } from '../../src/destination/recorded-files.ts';
import { type Destination, largestManifestBytes, largestObjectBytes } from '../../src/destination/store/destination.ts';
import { Child } from './child.ts';
import { openPlace, type StorePlace } from './place.ts';
import type { StoreKind } from './stores.ts';
import { drain } from './stores.ts';

const mebibyte = 1024 * 1024;

/** Returns data in which every four-byte word is different, so that a test detects misplaced parts of a file. */
function differentBytes(size: number): Buffer {
  const words = Uint32Array.from({ length: Math.ceil(size / 4) }, (_, index) => index);
  return Buffer.from(words.buffer, 0, size);
}

export function describeDestination({ make, url, unseenBytes }: StoreKind): void {
  const listsUploads = Number.isFinite(unseenBytes);
  let place: StorePlace;
  let destination: Destination;
  beforeEach(async () => {
    place = await make();
    destination = await openPlace(place.data);
  });
  afterEach(async () => {
    await destination.close();
    await place.remove();
  });

  const upload = async (name: string, ...chunks: readonly Uint8Array[]) => {
    const file = await destination.open(name);
    for (const chunk of chunks) await file.write(chunk);
    await file.finish();
  };
  const text = async (name: string) => (await destination.read(name))?.toString();
  /** Waits until at least `count` files are stored, because parts of a file are sent in the background. */
  const stored = (count: number) => expect.poll(async () => (await place.files()).length).toBeGreaterThanOrEqual(count);
  const listed = async (folder: string) => {
    const found: [string, number][] = [];
    for await (const { name, bytes } of destination.list(folder)) found.push([name, bytes]);
    return found.sort(([left], [right]) => (left < right ? -1 : 1));
  };

  describe('create', () => {
    test('writes a new object once (E2)', async () => {
      expect(await destination.create('a/b/plan.json', Buffer.from('first'))).toBe('created');
      expect(await destination.create('a/b/plan.json', Buffer.from('second'))).toBe('exists');
      expect(await text('a/b/plan.json')).toBe('first');
    });

    test('writes an empty object', async () => {
      expect(await destination.create('empty', new Uint8Array())).toBe('created');
      expect(await destination.read('empty')).toHaveLength(0);
    });

    test('succeeds for exactly one of many callers in this process', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, index) => destination.create('plan', Buffer.from(`by ${index}`))),
      );
      const winner = outcomes.indexOf('created');
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
      expect(await text('plan')).toBe(`by ${winner}`);
    });

    test('succeeds for exactly one of two processes, for each name (E3)', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `commits/${index}`);
      await using one = new Child(place.data, { kind: 'race', names, text: 'one' });
      await using two = new Child(place.data, { kind: 'race', names, text: 'two' });
      await Promise.all([one.line(), two.line()]);
      one.go();
      two.go();
      const [first, second] = (await Promise.all([one.line(), two.line()])).map((line) => line['created'] as string[]);
      expect([...first!, ...second!].sort()).toEqual([...names].sort());
      for (const name of names) expect(await text(name)).toBe(first?.includes(name) ? 'one' : 'two');
      expect(await place.files()).toHaveLength(names.length);
    });

    test('stores and reads a larger object if the caller allows it', async () => {
      const content = Buffer.alloc(largestObjectBytes + 1, 'x');
      expect(await destination.create('large', content)).toBe('created');
      expect(await destination.read('large', largestManifestBytes)).toHaveLength(content.length);
    });

    test('reports that a larger object exists, even when the store closes the connection', async () => {
      const content = Buffer.alloc(largestObjectBytes + 1, 'x');
      await destination.create('large', content);
      expect(await destination.create('large', content.fill('y'))).toBe('exists');
      expect((await destination.read('large', largestManifestBytes))?.at(-1)).toBe('x'.charCodeAt(0));
    });
  });

  describe('read', () => {
    test('reports a missing object, even when its folder is missing or is a file', async () => {
      await destination.create('a', Buffer.from('file'));
      expect([await text('b'), await text('c/d'), await text('a/b')]).toEqual([undefined, undefined, undefined]);
    });

    test('refuses to read a large file as a small object', async () => {
      const file = await destination.open('large');
      for (let written = 0; written <= largestObjectBytes; written += mebibyte)
        await file.write(Buffer.alloc(mebibyte));
      await file.finish();
      await expect(destination.read('large')).rejects.toMatchObject({ code: 'destination.damaged' });
    });
  });

  describe('an upload', () => {
    test.each([0, 1, 5 * mebibyte, 5 * mebibyte + 1, 17 * mebibyte])(
      'of %d bytes is read back as it was',
      async (size) => {
        const content = differentBytes(size);
        await upload('data/file', content.subarray(0, size / 3), content.subarray(size / 3));
        const hash = createHash('sha256');
        for await (const piece of destination.stream('data/file')) hash.update(piece);
        expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
        expect(await listed('data')).toEqual([['data/file', size]]);
      },
    );

    test('is not visible before it is finished', async () => {
      const file = await destination.open('data/file');
      await file.write(Buffer.alloc(11 * mebibyte));
      expect(await listed('')).toEqual([]);
      expect(await text('data/file')).toBeUndefined();
      await file.finish();
      expect(await listed('')).toEqual([['data/file', 11 * mebibyte]]);
    });

    test.each([1, 11 * mebibyte])('of %d bytes leaves nothing when it is aborted', async (size) => {
      const file = await destination.open('data/file');
      await file.write(Buffer.alloc(size));
      await file.abort();
      await file.abort();
      expect(await place.files()).toEqual([]);
    });

    test('stays visible when it is aborted after its end', async () => {
      const file = await destination.open('data/file');
      await file.write(Buffer.from('row'));
      await file.finish();
      await file.abort();
      expect(await text('data/file')).toBe('row');
    });

    test.each([1, 11 * mebibyte])('of %d bytes never overwrites', async (size) => {
      await destination.create('data/file', Buffer.from('first'));
      const file = await destination.open('data/file');
      const overwrite = async () => {
        await file.write(Buffer.alloc(size));
        await file.finish();
      };
      await expect(overwrite()).rejects.toMatchObject({ code: 'destination.lost', handling: { kind: 'backoff' } });
      await file.abort();
      expect(await text('data/file')).toBe('first');
      expect(await place.files()).toHaveLength(1);
    });

    test('needs a fixed amount of memory, independent of the size of its file', async () => {
      await using child = new Child(place.data, { kind: 'measure', name: 'data/large', bytes: 100 * mebibyte });
      expect((await child.line())['grownBytes']).toBeLessThan(60 * mebibyte);
      expect(await listed('data')).toEqual([['data/large', 100 * mebibyte]]);
    });
  });

  describe('an upload of a process that was killed', () => {
    // The larger upload sends only one part before its process is killed. The store could otherwise receive another
    // part after the upload has been removed.
    test.each([64 * 1024, 6 * mebibyte])('after %d bytes is not visible, and is removed (E15)', async (bytes) => {
      await using child = new Child(place.data, { kind: 'upload', folder: 'data', bytes });
      await child.line();
      const hasBegun = bytes > unseenBytes;
      if (hasBegun) await stored(1);
      expect(await destination.abortLeftovers('data', 'endedProcesses')).toBe(0);
      await child.kill();
      expect(await listed('')).toEqual([]);
      expect(await destination.abortLeftovers('data', 'endedProcesses')).toBe(hasBegun ? 1 : 0);
      expect(await place.files()).toEqual([]);
    });
  });

  test('a process that is killed while it writes leaves only complete objects (E3)', async () => {
    for (const lines of [1, 3, 8]) {
      await using child = new Child(place.data, { kind: 'churn', folder: `commits/${lines}`, bytes: 300_000 });
      for (let line = 0; line < lines; line++) await child.line();
      await child.kill();
      await destination.abortLeftovers('', 'endedProcesses');
      const found = await listed(`commits/${lines}`);
      expect(found.length).toBeGreaterThanOrEqual(lines);
      expect(found.filter(([, bytes]) => bytes !== 300_000)).toEqual([]);
    }
    // The store might still be storing the last object of a killed process.
    await expect.poll(async () => (await place.files()).length - (await listed('')).length).toBe(0);
  });

  if (listsUploads) {
    test('keeps uploads of running processes, unless they are no longer needed (E15)', async () => {
      const file = await destination.open('data/kept');
      await file.write(Buffer.alloc(12 * mebibyte));
      expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(0);
      await file.finish();
      const needless = await destination.open('data/needless');
      await needless.write(Buffer.alloc(12 * mebibyte));
      await stored(2);
      expect(await destination.abortLeftovers('data', 'all')).toBe(1);
      // After the upload has been aborted, `finish` fails, because the upload is lost or the store is temporarily
      // unavailable.
      await expect(needless.finish()).rejects.toMatchObject({
        code: expect.stringMatching(/^destination\.(?:lost|away)$/),
        handling: { kind: 'backoff' },
      });
      await needless.abort();
      expect(await listed('')).toEqual([['data/kept', 12 * mebibyte]]);
      expect(await place.files()).toHaveLength(1);
    });

    test('removes unfinished uploads only below the given folder', async () => {
      const files = await Promise.all(['a/x', 'ab/x'].map((name) => destination.open(name)));
      for (const file of files) await file.write(Buffer.alloc(6 * mebibyte));
      await stored(2);
      expect(await destination.abortLeftovers('a', 'all')).toBe(1);
      expect(await destination.abortLeftovers('none', 'all')).toBe(0);
      await files[1]?.finish();
      await files[0]?.abort();
      expect(await listed('')).toEqual([['ab/x', 6 * mebibyte]]);
    });
  } else {
    test('leaves unfinished uploads to the store, which does not list them (E15)', async () => {
      const file = await destination.open('data/file');
      await file.write(Buffer.alloc(12 * mebibyte));
      expect(await destination.abortLeftovers('data', 'endedProcesses')).toBe(0);
      expect(await destination.abortLeftovers('data', 'all')).toBe(0);
      await file.finish();
      expect(await listed('')).toEqual([['data/file', 12 * mebibyte]]);
    });
  }

  describe('list', () => {
    test('finds more files than one response of a store can list, even in subfolders', async () => {
      const names = Array.from({ length: 1_100 }, (_, index) => `commits/${index % 7}/${index}`);
      for (let start = 0; start < names.length; start += 50) {
        await Promise.all(names.slice(start, start + 50).map((name) => destination.create(name, Buffer.from(name))));
      }
      expect(await listed('commits')).toEqual([...names].sort().map((name) => [name, name.length]));
      expect(await listed('commits/3')).toHaveLength(names.filter((name) => name.startsWith('commits/3/')).length);
    });

    test('matches the complete name of a folder', async () => {
      for (const name of ['a/1', 'ab/1', 'a-b', 'a/b/2']) await destination.create(name, Buffer.from(name));
      expect((await listed('a')).map(([name]) => name)).toEqual(['a/1', 'a/b/2']);
      expect(await listed('nothing')).toEqual([]);
    });
  });

  test('finds missing and shortened files of a record, even when a listing lags (E3)', async () => {
    const layout = new ExportLayout('audit');
    const sizes = [6 * mebibyte, 3, 0];
    const files = sizes.map((bytes, index) => {
      return { name: `data/${index}`, rows: 0, bytes, encodedBytes: bytes, misfits: 0, sha256: '0'.repeat(64) };
    });
    for (const { name, bytes } of files) await upload(layout.within(name), Buffer.alloc(bytes));
    const none = { received: 0, written: 0, outside: 0, duplicates: 0, left: 0 };
    const record = { segment: 0, fromMs: 0, toMs: 1, ...none, count: { rows: 0, source: 'Job' as const }, files };
    const late: Destination = Object.create(destination, {
      list: { value: async function* () {} },
      stream: { value: (name: string) => destination.stream(name) },
    });
    const check = async (each: Destination) => checkFiles(each, layout, [record], await listFiles(each, layout));
    for (const each of [destination, late]) await check(each);
    await destination.remove(layout.within('data/0'));
    for (const each of [destination, late]) {
      await expect(check(each)).rejects.toMatchObject({
        code: 'destination.damaged',
        message: expect.stringContaining(
          `audit/data/0 is missing; restore the files, or remove ${layout.commit(0, 1)}`,
        ),
      });
    }
    await destination.remove(layout.within('data/1'));
    await upload(layout.within('data/1'), Buffer.from('more'));
    await expect(check(destination)).rejects.toMatchObject({
      message: expect.stringContaining('audit/data/1 has 4 bytes instead of 3'),
    });
  });

  test('accepts every allowed character in names', async () => {
    const signs = Array.from({ length: 0x250 }, (_, code) => String.fromCodePoint(code));
    const allowed = signs.filter((sign) => /[\p{L}\p{N}_=+,@~!()]/u.test(sign) && sign.normalize('NFC') === sign);
    const names = ['日志/审计.json', 'a b/c (1).gz', `x/${'y'.repeat(255)}`];
    for (let start = 0; start < allowed.length; start += 60)
      names.push(`all/${allowed.slice(start, start + 60).join('')}-.`);
    for (const name of names) {
      expect(await destination.create(name, Buffer.from(name))).toBe('created');
      expect(await text(name)).toBe(name);
    }
    expect((await listed('')).map(([name]) => name)).toEqual([...names].sort());
  });

  const strange = [
    ...['', '/', '/x', 'x/', 'a//b', '.', '..', '../x', 'a/..', 'a/../../x', 'a/./b', '.hidden', 'a/.logfleet-x.part'],
    ...[
      'a\0b',
      'a\nb',
      'a\u007fb',
      'a\\..\\b',
      'C:\\x',
      '%2e%2e/x',
      '..%2fx',
      'a%00b',
      '%2e%2e%2f%2e%2e%2fx',
      '~/../x',
    ],
    ...['a?versionId=1', 'a#b', 'a*', 'a<b', '-rf', ' a', 'a ', 'a\u202eb', '\ud800', 'e\u0301', 'x'.repeat(256)],
    ...[
      `${'y/'.repeat(513)}z`,
      'a\u2028b',
      '\u{ff0e}\u{ff0e}/x',
      'a;b',
      'a|b',
      'a"b',
      "a'b",
      'a$b',
      'a`b`',
      'a&b',
      'a:b',
    ],
  ];

  test.each(strange)('refuses the name %j', async (name) => {
    const refusal = { code: 'destination.name', handling: { kind: 'stall' } };
    await expect(destination.create(name, Buffer.from('x'))).rejects.toMatchObject(refusal);
    await expect(destination.open(name)).rejects.toMatchObject(refusal);
    await expect(destination.read(name)).rejects.toMatchObject(refusal);
    await expect(destination.remove(name)).rejects.toMatchObject(refusal);
    await expect(drain(destination.stream(name))).rejects.toMatchObject(refusal);
    if (name !== '') {
      await expect(drain(destination.list(name))).rejects.toMatchObject(refusal);
      await expect(destination.abortLeftovers(name, 'all')).rejects.toMatchObject(refusal);
    }
    expect(await place.files()).toEqual([]);
  });

  test('removes a file, and succeeds if there is none', async () => {
    await destination.create('a/b', Buffer.from('x'));
    await destination.remove('a/b');
    await destination.remove('a/b');
    await destination.remove('c/d');
    expect(await listed('')).toEqual([]);
    expect(await destination.create('a/b', Buffer.from('y'))).toBe('created');
  });

  test('reports a missing file', async () => {
    const pieces = destination.stream('data/none')[Symbol.asyncIterator]();
    await expect(pieces.next()).rejects.toMatchObject({ code: 'destination.absent' });
  });

  test('has an address for messages, which contains no keys', () => {
    expect(destination.url).toMatch(url);
  });
}
