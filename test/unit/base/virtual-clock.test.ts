/** Tests that the virtual clock waits for work that takes real time, such as reading files. */
import { randomBytes } from 'node:crypto';
import type { Transform } from 'node:stream';
import { createGzip, createZstdCompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** Clock with a timer for each millisecond. */
function tickingClock(): VirtualClock {
  const clock = new VirtualClock();
  const tick = () => void clock.after(1, tick);
  tick();
  return clock;
}

const compressors: readonly (readonly [string, () => Transform])[] = [
  ['gzip', () => createGzip({ level: 9 })],
  ['zstd', () => createZstdCompress()],
];

test.each(compressors)('no virtual time passes while %s compresses', async (_, create) => {
  const clock = tickingClock();
  const stream = create().resume();
  let isWritten = false;
  stream.write(randomBytes(4_000_000), () => {
    isWritten = true;
  });
  expect(await clock.run(() => isWritten, 10_000)).toBe(true);
  expect(clock.monotonic()).toBeLessThanOrEqual(1);
  stream.destroy();
});

test.each(compressors)('virtual time passes while the output of %s is not read', async (_, create) => {
  const clock = tickingClock();
  const stream = create();
  stream.write(randomBytes(4_000_000));
  await clock.advance(100);
  expect(clock.monotonic()).toBe(100);
  expect(stream.readableLength).toBeGreaterThan(0);
  stream.destroy();
});
