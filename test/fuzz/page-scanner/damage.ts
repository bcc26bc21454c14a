/** Random damage to the bytes of a page. */
import type { Chance } from '../../simulation/chance.ts';

/** Bytes that the tests use to damage a page. Many of them have a meaning in JSON. */
const telling = Buffer.from('{}[]:,"\\ \n\t0129-+.eEtfnu/_mx\x00\x1f\x20\x21\x7f\x80\xc3\xff', 'latin1');

export function damage(chance: Chance, page: Buffer): Buffer {
  let damaged = page;
  for (let times = chance.whole(1, 3); times > 0; times--) damaged = damageOnce(chance, damaged);
  return damaged;
}

function damageOnce(chance: Chance, page: Buffer): Buffer {
  const from = chance.whole(0, page.length);
  const to = Math.min(page.length, from + chance.whole(0, chance.happens(0.8) ? 4 : 60));
  const elsewhere = chance.whole(0, page.length);
  const bytes = () => Buffer.from(Array.from({ length: chance.whole(1, 3) }, () => chance.one([...telling])));
  switch (chance.one(['byte', 'bit', 'cut', 'remove', 'insert', 'repeat', 'move', 'append'] as const)) {
    case 'byte':
      return joined(page, from, from + 1, bytes().subarray(0, 1));
    case 'bit':
      return joined(page, from, from + 1, Buffer.of((page[from] ?? 0) ^ (1 << chance.whole(0, 7))));
    case 'cut':
      return page.subarray(0, from);
    case 'remove':
      return joined(page, from, to, Buffer.alloc(0));
    case 'insert':
      return joined(page, from, from, bytes());
    case 'repeat':
      return joined(page, to, to, page.subarray(from, to));
    case 'move':
      return joined(page, elsewhere, elsewhere, page.subarray(from, to));
    case 'append':
      return joined(page, page.length, page.length, bytes());
  }
}

function joined(page: Buffer, from: number, to: number, bytes: Buffer): Buffer {
  return Buffer.concat([page.subarray(0, from), bytes, page.subarray(to)]);
}
