/**
 * Logs as JSON lines, for clusters: `{"level":"info","time":"…Z","message":"…", …fields}`. Errors in fields are rendered with
 * code, message and causes, and unexpected errors with their stack. Secrets are rendered as `[secret]`. Logging never throws,
 * even if a field cannot be rendered.
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
  return new JsonLogger(
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

/** Logger that creates its pino child logger when it logs the first line, because most loggers of resources never log a line. */
class JsonLogger implements Logger {
  readonly #parent: Sink;
  readonly #fields: LogFields | undefined;
  #sink: Sink | undefined;

  /** @param fields fields of every line, in addition to the fields of `parent` */
  constructor(parent: Sink, fields?: LogFields) {
    this.#parent = parent;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#opened().debug(renderFields(fields), message);
  }

  info(message: string, fields?: LogFields): void {
    this.#opened().info(renderFields(fields), message);
  }

  warn(message: string, fields?: LogFields): void {
    this.#opened().warn(renderFields(fields), message);
  }

  error(message: string, fields?: LogFields): void {
    this.#opened().error(renderFields(fields), message);
  }

  with(fields: LogFields): Logger {
    return new JsonLogger(this.#opened(), fields);
  }

  #opened(): Sink {
    this.#sink ??= this.#fields ? this.#parent.child(renderFields(this.#fields)) : this.#parent;
    return this.#sink;
  }
}

function renderFields(fields: LogFields = {}): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? renderError(value) : value]),
  );
}
