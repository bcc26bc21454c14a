import { describe, expect, it } from 'vitest';
import { renderSvg } from '../../../demo/screen-svg.ts';
import { TerminalScreen, textOf } from '../../../demo/terminal-screen.ts';
import { paintWith } from '../../../src/cli/render/paint.ts';
import { Screen } from '../../../src/cli/render/screen.ts';
import { recordingOutput } from '../../support/recording-context.ts';

function shown(text: string): readonly string[] {
  const screen = new TerminalScreen();
  screen.write(text);
  return screen.rows().map(textOf);
}

describe('TerminalScreen', () => {
  it("shows a terminal's screen after a block was redrawn lower and shorter than before", () => {
    const output = recordingOutput({ columns: 40, rows: 20 });
    const block = new Screen(output);
    output.write('before\n');
    block.draw(['one', 'a long line', 'three']);
    block.print('a line above');
    block.draw(['ONE', 'short']);
    block.draw(['only one']);
    block.end();
    output.write('after\n');
    expect(shown(output.text)).toEqual(['before', 'a line above', 'only one', 'after']);
  });

  it('keeps text of one colour together, each piece at its column', () => {
    const paint = paintWith(true);
    const screen = new TerminalScreen();
    screen.write(`a ${paint('green', 'ok')}  ${paint('bold', 'b')} c\n`);
    expect(screen.rows()[0]).toEqual([
      { text: 'a ', style: '', column: 0 },
      { text: 'ok', style: '32', column: 2 },
      { text: 'b', style: '1', column: 6 },
      { text: ' c', style: '', column: 7 },
    ]);
  });
});

describe('renderSvg', () => {
  it('writes each text at its place and in its colour, and escapes characters of XML', () => {
    const rows = [[{ text: 'a <b> & c', style: '31', column: 2 }], [], [{ text: 'x', style: '', column: 0 }]] as const;
    const svg = renderSvg(rows, 20, 'a < b');
    expect(svg).toContain('<title>a &lt; b</title>');
    expect(svg).toMatch(/<text x="32.8" y="30" textLength="75.6" [^>]*fill="#[0-9a-f]{6}">a &lt;b&gt; &amp; c<\/text>/);
    expect(svg).toMatch(/<text x="16" y="66" textLength="8.4" lengthAdjust="spacingAndGlyphs">x<\/text>/);
    expect(svg.match(/<text /g)).toHaveLength(2);
  });
});
