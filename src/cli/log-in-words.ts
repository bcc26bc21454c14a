/** A log in which errors say what they say in the words of whoever reads it. */
import { LogfleetError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log.ts';

/** Bugs of ours are left as they are: their stacks are what counts. */
export function logInWords(log: Logger, inWords: (message: string) => string): Logger {
  const said = (fields: LogFields | undefined): LogFields | undefined => {
    const error = fields?.['error'];
    if (!(error instanceof LogfleetError) || error.handling.kind === 'bug') return fields;
    const { code, handling, reason, cause } = error;
    return { ...fields, error: new LogfleetError({ code, handling, reason, cause, message: inWords(error.message) }) };
  };
  return {
    debug: (message, fields) => log.debug(message, said(fields)),
    info: (message, fields) => log.info(message, said(fields)),
    warn: (message, fields) => log.warn(message, said(fields)),
    error: (message, fields) => log.error(message, said(fields)),
    with: (fields) => logInWords(log.with(said(fields) ?? {}), inWords),
  };
}
