/** What is wrong in a directory, for people: where, and what to write instead. */

export interface Problem {
  /** With a warning the manifest works, most likely not as it was meant. */
  readonly severity: 'error' | 'warning';
  /** The file, below the directory as it was given. */
  readonly file: string;
  /** Both count from 1; 1 and 1 where the whole file is meant. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** `file:line:column: message`, as `logfleet validate` has it. */
export function renderProblem({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`;
}
