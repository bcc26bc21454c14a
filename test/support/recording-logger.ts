/** Logger that records its lines for tests. */
import type { LogFields, Logger, LogLevel } from '../../src/base/log.ts';

export interface LoggedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export class RecordingLogger implements Logger {
  readonly lines: LoggedLine[];
  readonly #fields: LogFields;

  /** `lines` receives the log lines, and `fields` are added to each of them. */
  constructor(lines: LoggedLine[] = [], fields: LogFields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#add('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#add('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#add('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#add('error', message, fields);
  }

  with(fields: LogFields): Logger {
    return new RecordingLogger(this.lines, { ...this.#fields, ...fields });
  }

  /** Returns the messages of all warnings. */
  warnings(): readonly string[] {
    return this.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  }

  #add(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
