/**
 * Writes logs as JSON lines: `{"level":"info","time":"…Z","message":"…", …fields}`. Secrets are replaced with
 * `[secret]`. The logger never throws.
 */
import { pino, stdTimeFunctions } from 'pino';
import { renderError } from './error-rendering.ts';
import { FieldLogger, type LogFields, type Logger, type LogLevel } from './log.ts';

export interface JsonLogOptions {
  readonly level: LogLevel;
  /** Stream to which each line is written, for example `process.stderr`. */
  readonly output: { write(line: string): unknown };
}

export function createJsonLogger({ level, output }: JsonLogOptions): Logger {
  const lines = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => void output.write(line) },
  );
  return new FieldLogger((of, message, fields) => {
    if (lines.isLevelEnabled(of)) lines[of](renderFields(fields), message);
  });
}

function renderFields(fields: LogFields): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? renderError(value) : value]),
  );
}
