import { expect, test } from 'vitest';
import { freshPiece, PieceMemory, pieceBytes } from '../base/piece-memory.ts';

test('memory is lent again after part of it was returned', () => {
  const memory = new PieceMemory();
  const [first, second] = [memory.lend(10), memory.lend(pieceBytes)];
  expect(first.bytes.buffer).not.toBe(second.bytes.buffer);
  memory.giveBack(second.bytes.subarray(5, 9));
  expect(memory.lend(1)).toBe(second);
  expect(memory.lend(1).bytes.buffer).not.toBe(first.bytes.buffer);
});

test('memory that is returned twice is lent only once', () => {
  const memory = new PieceMemory();
  const { bytes } = memory.lend(10);
  memory.giveBack(bytes);
  memory.giveBack(bytes);
  expect(memory.lend(10).bytes.buffer).toBe(bytes.buffer);
  expect(memory.lend(10).bytes.buffer).not.toBe(bytes.buffer);
});

test('larger or foreign memory is ignored', () => {
  const memory = new PieceMemory();
  const large = memory.lend(pieceBytes + 1);
  expect(large.bytes).toHaveLength(pieceBytes + 1);
  for (const { bytes } of [large, freshPiece(pieceBytes)]) {
    memory.giveBack(bytes);
    expect(memory.lend(1).bytes.buffer).not.toBe(bytes.buffer);
  }
});
