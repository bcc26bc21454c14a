import { describe, expect, it } from 'vitest';
import { renderTable } from '../../../../src/cli/render/table.ts';

describe('renderTable', () => {
  it('puts columns under headings in capitals, without trailing whitespace', () => {
    expect(
      renderTable(
        ['Name', 'In progress', 'State'],
        [
          ['production', '6', ''],
          ['b', '12', 'Ready'],
        ],
      ),
    ).toEqual(['NAME         IN PROGRESS   STATE', 'production   6', 'b            12            Ready']);
  });

  it('keeps each row on one line', () => {
    expect(renderTable(['Name', 'Message'], [['a', 'disk\nfull\u001b[31m']])).toEqual([
      'NAME   MESSAGE',
      'a      disk full [31m',
    ]);
  });

  it('aligns columns after names with CJK characters and emoji', () => {
    const rows = [
      ['web-1', 'Ready'],
      ['東京', 'Ready'],
      ['🚀 web', 'Ready'],
      ['👍🏽', 'Ready'],
      ['cafe\u0301', 'Ready'],
    ];
    expect(renderTable(['Name', 'State'], rows)).toEqual([
      'NAME     STATE',
      'web-1    Ready',
      '東京     Ready',
      '🚀 web   Ready',
      '👍🏽       Ready',
      'cafe\u0301     Ready',
    ]);
  });

  it.each([
    [19, ['NAME   MESSAGE', 'a      disk is full']],
    [18, ['NAME  MESSAGE', 'a     disk is full']],
    [17, ['NAME MESSAGE', 'a    disk is full']],
    [5, ['NAME MESSAGE', 'a    disk is full']],
  ])('shrinks gaps for a window of %i, without cutting cells', (width, lines) => {
    expect(renderTable(['Name', 'Message'], [['a', 'disk is full']], width)).toEqual(lines);
  });

  it('has only headings without rows', () => {
    expect(renderTable(['Name'], [])).toEqual(['NAME']);
  });
});
