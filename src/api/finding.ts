/** What is wrong, or odd, about a resource. */
import type { JsonPath } from './json-path.ts';

export interface Finding {
  /** An API server, or logfleet, refuses the resource for an error. With a warning it works, most likely not as it was meant. */
  readonly severity: 'error' | 'warning';
  readonly path: JsonPath;
  /** Whether the name of the member is to blame or its value. */
  readonly part: 'key' | 'value';
  /** What is wrong; what to write. */
  readonly message: string;
}
