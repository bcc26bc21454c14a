/**
 * Errors as plain data for logs: what JSON would leave out of them (message, stack) and what programs match by (code), with their
 * causes. Whatever is thrown can be rendered; long chains of causes are cut. Stacks are of unexpected errors alone: in a log of expected
 * ones they would bury the messages.
 */
import { LogfleetError } from './errors.ts';

export interface RenderedError {
  readonly message: string;
  readonly name?: string;
  /** Of ours, or of Node's system errors (`ECONNREFUSED`). */
  readonly code?: string;
  /** Of an unexpected error, and of its causes. */
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

/** Whether the stack tells a person anything: errors of ours say where they are from by their code, unless they are bugs. */
export function isUnexpected(error: unknown): boolean {
  return !(error instanceof LogfleetError) || error.handling.kind === 'bug';
}
