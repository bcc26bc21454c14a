/** Errors and warnings about a resource. */
import type { JsonPath } from './json-path.ts';

export interface Finding {
  /** `error`: an API server, or logfleet, rejects the resource. `warning`: the resource works, but probably not as intended. */
  readonly severity: 'error' | 'warning';
  readonly path: JsonPath;
  /** Whether the finding is about the name of the member or about its value. */
  readonly part: 'key' | 'value';
  /** `Problem; fix`: the text before the first `; ` is the problem, the text after it is the fix. */
  readonly message: string;
}

/** Creates a warning about the value at a path. */
export function warning(path: JsonPath, message: string): Finding {
  return { severity: 'warning', path, part: 'value', message };
}

export interface Explanation {
  readonly problem: string;
  readonly fix: string;
}

/** Splits a message into problem and fix. */
export function explain({ message }: Pick<Finding, 'message'>): Explanation {
  const end = message.indexOf('; ');
  return end === -1 ? { problem: message, fix: '' } : { problem: message.slice(0, end), fix: message.slice(end + 2) };
}
