/** Converts thrown values to plain data for logs: message, code and causes. Only unexpected errors get a stack. */
import { isExpected, systemCode } from './errors.ts';

export interface RenderedError {
  readonly message: string;
  readonly name?: string;
  /** Code of a LogfleetError or of a system error such as `ECONNREFUSED`. */
  readonly code?: string;
  /** Stack of an unexpected error or of its cause. */
  readonly stack?: string;
  readonly cause?: RenderedError;
}

const maxCauses = 5;

export function renderError(error: unknown): RenderedError {
  return render(error, !isExpected(error), 0);
}

function render(error: unknown, withStack: boolean, depth: number): RenderedError {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = systemCode(error);
  return {
    name: error.name,
    ...(code !== undefined && { code }),
    message: error.message,
    ...(withStack && error.stack !== undefined && { stack: error.stack }),
    ...(error.cause !== undefined && depth < maxCauses && { cause: render(error.cause, withStack, depth + 1) }),
  };
}
