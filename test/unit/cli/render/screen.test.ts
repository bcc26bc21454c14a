import { describe, expect, it } from 'vitest';
import { Screen } from '../../../../src/cli/render/screen.ts';
import { recordingOutput, shownOn } from '../../../support/recording-context.ts';

describe('Screen', () => {
  it('draws in place, even when the block shrinks', () => {
    const output = recordingOutput({});
    const screen = new Screen(output);
    screen.draw(['a', 'b', 'c']);
    screen.draw(['d', 'e']);
    expect(shownOn(output.text)).toEqual(['d', 'e']);
    expect(output.text).toBe(
      '\u001b[?25la\u001b[K\nb\u001b[K\nc\u001b[K\n\u001b[J\u001b[3A\rd\u001b[K\ne\u001b[K\n\u001b[J',
    );
  });

  it('fits the window, and counts the other lines', () => {
    const output = recordingOutput({ columns: 6, rows: 4 });
    new Screen(output).draw(['wider than six', 'b', 'c', 'd']);
    expect(shownOn(output.text)).toEqual(['wide…', 'b', '… 2 …']);
  });

  it('prints lines above the block', () => {
    const output = recordingOutput({});
    const screen = new Screen(output);
    screen.draw(['a', 'b']);
    screen.print('for the record');
    screen.draw(['c']);
    expect(shownOn(output.text)).toEqual(['for the record', 'c']);
  });

  it('shows the cursor again once, only if it was hidden', () => {
    const output = recordingOutput({});
    const screen = new Screen(output);
    screen.end();
    expect(output.text).toBe('');
    screen.draw(['a']);
    screen.end();
    screen.end();
    expect(output.text.split('\u001b[?25h')).toHaveLength(2);
    expect(shownOn(output.text)).toEqual(['a']);
  });
});
