/** A problem in a manifest directory: its position and a message for users. */

export interface Problem {
  /** A manifest with warnings is used, but probably not as intended. */
  readonly severity: 'error' | 'warning';
  /** File path, which begins with the directory as it was given. */
  readonly file: string;
  /** Line and column count from 1. Both are 1 for a problem of the whole file. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Renders `file:line:column: message`, the format of `logfleet validate`. */
export function renderProblem({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`;
}
