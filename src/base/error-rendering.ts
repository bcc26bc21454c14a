/**
 * Converts errors to plain data for logs: message, code and causes. Accepts any thrown value and limits the number of causes.
 * Only unexpected errors get a stack, because stacks of expected errors would make logs unreadable.
 */
import { LogfleetError } from './errors.ts';

export interface RenderedError {
  readonly message: string;
  readonly name?: string;
  /** Code of the error, from a LogfleetError or from a Node system error such as `ECONNREFUSED`. */
  readonly code?: string;
  /** Stack of the error or of its cause; absent for expected errors. */
  readonly stack?: string;
  readonly cause?: RenderedError;
}

const maxCauses = 5;

export function renderError(error: unknown): RenderedError {
  return render(error, isUnexpected(error), 0);
}

function render(error: unknown, withStack: boolean, depth: number): RenderedError {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    name: error.name,
    ...(code !== undefined && { code }),
    message: error.message,
    ...(withStack && error.stack !== undefined && { stack: error.stack }),
    ...(error.cause !== undefined && depth < maxCauses && { cause: render(error.cause, withStack, depth + 1) }),
  };
}

/** Returns whether to log the stack of an error. The stack of an expected error is not logged, because its code tells what happened. */
export function isUnexpected(error: unknown): boolean {
  return !(error instanceof LogfleetError) || error.handling.kind === 'bug';
}
