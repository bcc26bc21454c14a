/**
 * Logs as JSON lines, for clusters: `{"level":"info","time":"…Z","message":"…", …fields}`. Errors in fields are rendered with code,
 * message and causes, and unexpected errors with their stack. Secrets are rendered as `[secret]`. A field that cannot be rendered
 * never throws.
 */
import { pino, stdTimeFunctions } from 'pino';
import { renderError } from './error-rendering.ts';
import type { LogFields, Logger, LogLevel } from './log.ts';

export interface JsonLogOptions {
  readonly level: LogLevel;
  /** Output that receives each line of the log with its line feed, for example `process.stderr`. */
  readonly output: { write(line: string): unknown };
}

export function createJsonLogger(options: JsonLogOptions): Logger {
  return adapt(
    pino(
      {
        level: options.level,
        base: null,
        messageKey: 'message',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      { write: (line) => void options.output.write(line) },
    ),
  );
}

type Sink = Pick<ReturnType<typeof pino>, LogLevel> & { child(fields: object): Sink };

function adapt(sink: Sink): Logger {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => sink[level](renderFields(fields), message);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => adapt(sink.child(renderFields(fields))),
  };
}

function renderFields(fields: LogFields = {}): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? renderError(value) : value]),
  );
}
