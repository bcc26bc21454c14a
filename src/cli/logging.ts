/** Logs as flags ask for them. */
import { systemClock } from '../base/clock.ts';
import { createJsonLogger } from '../base/json-log.ts';
import type { Logger } from '../base/log.ts';
import { createTextLogger } from '../base/text-log.ts';
import type { Output } from './context.ts';
import type { LogOptions } from './options.ts';

/** Whether people have read each warning of the log already, where it came. */
export function tellsWarnings({ logFormat, logLevel }: LogOptions, { isTTY }: Output): boolean {
  return isText(logFormat, isTTY) && logLevel !== 'error';
}

function isText(logFormat: LogOptions['logFormat'], isTTY: boolean): boolean {
  return logFormat === undefined ? isTTY : logFormat === 'text';
}

/** Lines go to `output`; whether they are text, where no flag says so, is as `stream` is a terminal. */
export function createLogger(
  { logFormat, logLevel }: LogOptions,
  { isTTY, colour }: Output,
  output: { write(line: string): void },
): Logger {
  if (!isText(logFormat, isTTY)) return createJsonLogger({ level: logLevel, output });
  return createTextLogger({ level: logLevel, colors: colour, clock: systemClock, output });
}
