/**
 * Interface for structured logs: a constant message with fields. Implementations: `json-log.ts` for clusters,
 * `text-log.ts` for terminals.
 */

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /**
   * Logs a message about an error. `fields.error` may be an Error: its code and message are logged,
   * and its stack if the error is unexpected.
   */
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLogger,
};
