import { systemClock } from '../../base/clock.ts';
import { createJsonLogger } from '../../base/json-log.ts';
import type { Logger } from '../../base/log.ts';
import { createTextLogger } from '../../base/text-log.ts';
import type { Output } from '../command/context.ts';
import type { LogOptions } from '../command/options.ts';

export function createLogger(
  { logFormat, logLevel: level }: LogOptions,
  usual: LogOptions['logFormat'],
  { colour: colors }: Pick<Output, 'colour'>,
  output: { write(line: string): void },
): Logger {
  if ((logFormat ?? usual) === 'json') return createJsonLogger({ level, output });
  return createTextLogger({ level, colors, clock: systemClock, output });
}
