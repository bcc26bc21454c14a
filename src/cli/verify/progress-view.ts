/** Shows the progress of `logfleet verify`: as a bar on a terminal, otherwise as lines. */
import type { Clock } from '../../base/clock.ts';
import type { Output } from '../command/context.ts';
import { renderProgressBar } from '../render/bars.ts';
import { paintWith } from '../render/paint.ts';
import { Screen } from '../render/screen.ts';

/** Interval in ms between progress lines. */
const lineIntervalMs = 10_000;
const widestBar = 40;

export interface ProgressView {
  /** Shows the ratio, from 0 to 1, as a bar with the text beside it. */
  show(ratio: number, text: string): void;
  end(): void;
}

export function progressView(output: Output, clock: Clock): ProgressView {
  const screen = output.isTTY ? new Screen(output) : undefined;
  const paint = paintWith(output.colour);
  let reportedAtMs = clock.monotonic();
  return {
    show(ratio, text) {
      if (screen) {
        const width = Math.min(widestBar, output.columns() - text.length - 3);
        screen.draw([`${renderProgressBar(ratio, width, paint)} ${text}`]);
      } else if (clock.monotonic() - reportedAtMs >= lineIntervalMs) {
        reportedAtMs = clock.monotonic();
        output.write(`${text}\n`);
      }
    },
    end() {
      screen?.draw([]);
      screen?.end();
    },
  };
}
