import { channel } from 'node:diagnostics_channel';
import { afterEach, describe, expect, test } from 'vitest';
import { crossing } from '../../../src/base/boundary.ts';

const boundaries = channel('logfleet:boundary');
let stopListening = () => {};
afterEach(() => stopListening());

function listen(listener: (message: unknown) => void): void {
  boundaries.subscribe(listener);
  stopListening = () => boundaries.unsubscribe(listener);
}

describe('crossing a boundary', () => {
  test('returns the result of the effect without subscribers', async () => {
    await expect(crossing('test', async () => 7)).resolves.toBe(7);
  });

  test('is announced before and after the effect', async () => {
    const seen: unknown[] = [];
    listen((message) => seen.push(message));
    await crossing('test', async () => seen.push('effect'));
    expect(seen).toEqual([{ name: 'test', phase: 'before' }, 'effect', { name: 'test', phase: 'after' }]);
  });

  test('a failed effect is not announced after it', async () => {
    const seen: unknown[] = [];
    listen((message) => seen.push(message));
    const failing = crossing('test', async () => {
      throw new Error('failed');
    });
    await expect(failing).rejects.toThrow('failed');
    expect(seen).toEqual([{ name: 'test', phase: 'before' }]);
  });
});
