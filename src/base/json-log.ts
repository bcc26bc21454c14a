/**
 * Writes logs as JSON lines: `{"level":"info","time":"…Z","message":"…", …fields}`. Secrets are replaced by `[secret]`.
 * The logger never throws.
 */
import { pino, stdTimeFunctions } from 'pino';
import { renderError } from './error-rendering.ts';
import type { LogFields, Logger, LogLevel } from './log.ts';

export interface JsonLogOptions {
  readonly level: LogLevel;
  /** Stream to which each line is written, for example `process.stderr`. */
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

/** Logger that creates its pino child logger when it writes its first line, because most loggers never write a line. */
class JsonLogger implements Logger {
  readonly #parent: Sink;
  readonly #fields: LogFields | undefined;
  #sink: Sink | undefined;

  /** @param fields fields of every line, added to those of `parent` */
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
