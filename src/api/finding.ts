/** What is wrong, or odd, about a resource. */
import type { JsonPath } from './json-path.ts';

export interface Finding {
  /** An API server, or logfleet, refuses the resource for an error. With a warning it works, most likely not as it was meant. */
  readonly severity: 'error' | 'warning';
  readonly path: JsonPath;
  /** Whether the name of the member is to blame or its value. */
  readonly part: 'key' | 'value';
  /** `What is wrong; what to write`: what stands before the first `; ` is the problem, what follows is the fix. */
  readonly message: string;
}

/** About the value there. */
export function warning(path: JsonPath, message: string): Finding {
  return { severity: 'warning', path, part: 'value', message };
}

export interface Explanation {
  readonly problem: string;
  readonly fix: string;
}

/** The two parts of a message. */
export function explain({ message }: Pick<Finding, 'message'>): Explanation {
  const end = message.indexOf('; ');
  return end === -1 ? { problem: message, fix: '' } : { problem: message.slice(0, end), fix: message.slice(end + 2) };
}
