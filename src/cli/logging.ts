/** Loggers for the flags `--log-format` and `--log-level`. */
import { systemClock } from '../base/clock.ts';
import { createJsonLogger } from '../base/json-log.ts';
import type { Logger } from '../base/log.ts';
import { createTextLogger } from '../base/text-log.ts';
import type { Output } from './context.ts';
import type { LogOptions } from './options.ts';

/** True if warnings of the log appeared on stderr as text. */
export function showsWarnings({ logFormat, logLevel }: LogOptions, { isTTY }: Output): boolean {
  return isText(logFormat, isTTY) && logLevel !== 'error';
}

function isText(logFormat: LogOptions['logFormat'], isTTY: boolean): boolean {
  return logFormat === undefined ? isTTY : logFormat === 'text';
}

/** Creates a logger that writes to `output`. Without `--log-format`, the log is text if the output stream is a terminal. */
export function createLogger(
  { logFormat, logLevel }: LogOptions,
  { isTTY, colour }: Output,
  output: { write(line: string): void },
): Logger {
  if (!isText(logFormat, isTTY)) return createJsonLogger({ level: logLevel, output });
  return createTextLogger({ level: logLevel, colors: colour, clock: systemClock, output });
}
