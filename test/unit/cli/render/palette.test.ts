import { describe, expect, it } from 'vitest';
import { paintWith } from '../../../../src/cli/render/paint.ts';
import { clip, widthOf, wrap, wrapIndented } from '../../../../src/cli/render/terminal-text.ts';
import { printable } from '../../../../src/cli/render/text.ts';

const paint = paintWith(true);

describe('printable', () => {
  it('removes control characters', () => {
    expect(printable('web\u001b[2J\u0007-1\r\nnext\u202eline\u2028')).toBe('web [2J -1 next line ');
  });

  it('keeps letters of any script', () => {
    expect(printable('wéb-日本')).toBe('wéb-日本');
  });
});

describe('colours', () => {
  it('are written only if enabled, and never around an empty text', () => {
    expect(paint('red', 'x')).toBe('\u001b[31mx\u001b[39m');
    expect(paint('red', '')).toBe('');
    expect(paintWith(false)('red', 'x')).toBe('x');
  });

  it('take no width', () => {
    expect(widthOf(`${paint('green', 'ab')}→`)).toBe(3);
  });
});

describe('clip', () => {
  it.each([
    ['collector', 9, 'collector'],
    ['collector', 8, 'collect…'],
    ['collector', 1, '…'],
    ['collector', 0, ''],
    ['東京の収集', 9, '東京の収…'],
    ['東京の収集', 8, '東京の…'],
  ])('%s to %d columns: %s', (text, width, clipped) => {
    expect(clip(text, width)).toBe(clipped);
  });

  it('closes open colours', () => {
    const text = `ab${paint('red', 'cdef')}gh${paint('dim', 'ij')}`;
    expect(clip(text, 10)).toBe(text);
    expect(clip(text, 5)).toBe('ab\u001b[31mcd\u001b[39m…');
    expect(widthOf(clip(text, 5))).toBe(5);
  });
});

describe('wrap', () => {
  it('breaks at whitespace, and keeps long words whole', () => {
    expect(wrap('one two three incomprehensible four', 8)).toEqual(['one two', 'three', 'incomprehensible', 'four']);
    expect(wrap('', 8)).toEqual(['']);
  });

  it('indents the following lines of a wrapped line', () => {
    expect(wrapIndented('  one two three four five', 22)).toEqual(['  one two three four', '      five']);
    expect(wrapIndented('CHECK   one two three four five', 22, 8)).toEqual([
      'CHECK   one two three',
      '        four five',
    ]);
    expect(wrapIndented('  incomprehensible-and-long', 10)).toEqual(['  incomprehensible-and-long']);
  });
});
