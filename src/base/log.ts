/** Interface for structured logs. Each line has a constant message, and fields with the variable data. */

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /**
   * Logs a message about an error. The line contains the code and the message of `fields.error`. It contains the stack
   * only if the error is unexpected.
   */
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/** Logger that passes the level, message and fields of each line to one function. */
export class FieldLogger implements Logger {
  readonly #write: (level: LogLevel, message: string, fields: LogFields) => void;
  readonly #fields: LogFields;

  /** @param fields fields to add to every line */
  constructor(write: (level: LogLevel, message: string, fields: LogFields) => void, fields: LogFields = {}) {
    this.#write = write;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, { ...this.#fields, ...fields });
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, { ...this.#fields, ...fields });
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, { ...this.#fields, ...fields });
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, { ...this.#fields, ...fields });
  }

  with(fields: LogFields): Logger {
    return new FieldLogger(this.#write, { ...this.#fields, ...fields });
  }
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLogger,
};
