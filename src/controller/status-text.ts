/** Builds parts that all statuses contain: times, texts of limited length, and the last request of a person. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';

/** Formats a wall time in whole seconds, in the form that Kubernetes uses. */
export function isoTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

/** Shortens the text to `maxLength` without splitting a character. */
export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Maximum length in characters of an annotation value that status repeats. */
const maxRequestLength = 256;

/** Last request of a person, repeated in status. A client that waits for the request sees that the operator has read it. */
export function echoOfRequest({ metadata }: { readonly metadata: Pick<ObjectMeta, 'annotations'> }): {
  readonly lastHandledReconcileAt?: string;
} {
  const requestedAt = metadata.annotations[annotations.requestedAt];
  return requestedAt === undefined ? {} : { lastHandledReconcileAt: bounded(requestedAt, maxRequestLength) };
}
