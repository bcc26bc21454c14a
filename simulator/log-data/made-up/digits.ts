/** Writes decimal digits of fixed width into an existing byte array. */

const zero = 0x30;

/**
 * The four ASCII digits of each number from 0 to 9,999, packed into a 32-bit integer. The first digit is in the lowest
 * byte.
 */
const fours = Uint32Array.from({ length: 10_000 }, (_, number) =>
  [...String(number).padStart(4, '0')].reduce((word, digit, index) => word | (digit.charCodeAt(0) << (8 * index)), 0),
);

export const timeDigits = 13;

function writeFour(into: DataView, offset: number, number: number): void {
  into.setUint32(offset, fours[number] as number, true);
}

function writeEight(into: DataView, offset: number, number: number): void {
  const high = (number / 10_000) | 0;
  writeFour(into, offset, high);
  writeFour(into, offset + 4, number - high * 10_000);
}

export function writeNine(into: DataView, offset: number, number: number): void {
  const first = (number / 100_000_000) | 0;
  into.setUint8(offset, zero + first);
  writeEight(into, offset + 1, number - first * 100_000_000);
}

/** Writes the thirteen digits of a time in ms since the epoch. */
export function writeTime(into: DataView, offset: number, timeMs: number): void {
  const high = (timeMs / 100_000_000) | 0;
  const first = (high / 10_000) | 0;
  into.setUint8(offset, zero + first);
  writeFour(into, offset + 1, high - first * 10_000);
  writeEight(into, offset + 5, timeMs - high * 100_000_000);
}

/** Writes the sixteen digits of `_blockid`. */
export function writeBlock(into: DataView, offset: number, block: number): void {
  const high = (block / 100_000_000) | 0;
  writeEight(into, offset, high);
  writeEight(into, offset + 8, block - high * 100_000_000);
}
