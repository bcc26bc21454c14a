/**
 * Reports the current installation step on stderr. A terminal shows one line; in a log, a line is written every half
 * minute.
 */

const terminalIntervalMs = 500;
const logIntervalMs = 30_000;

export interface Step {
  /** Shows a detail of the current step, such as `812 packages compiled`. */
  detail(text: string): void;
  /** Ends the current step and shows `text`. Without `text`, the step's line disappears from a terminal. */
  end(text?: string): void;
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function startStep(title: string): Step {
  const isTTY = process.stderr.isTTY === true;
  const startMs = performance.now();
  let detail = '';
  const line = () =>
    `${title} ... ${[detail, elapsed(performance.now() - startMs)].filter((part) => part !== '').join(', ')}`;
  const show = () => (isTTY ? process.stderr.write(`\r\x1b[K${line()}`) : say(line()));
  if (!isTTY) say(`${title} ...`);
  const timer = setInterval(show, isTTY ? terminalIntervalMs : logIntervalMs);
  return {
    detail(text) {
      detail = text;
    },
    end(text) {
      clearInterval(timer);
      if (isTTY) process.stderr.write('\r\x1b[K');
      if (text !== undefined) say(`${title}: ${text}, ${elapsed(performance.now() - startMs)}`);
    },
  };
}

/** Returns a duration in the form `4m05s` or `12s`. */
function elapsed(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}
