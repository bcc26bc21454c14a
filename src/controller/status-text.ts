/** Common parts of all statuses: times, texts of limited length, and the last request of a person. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';

/** Time in whole seconds, as Kubernetes writes it. */
export function isoTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

/** The text, truncated to `maxLength` without splitting a character. */
export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Maximum length of an echoed annotation. */
const maxRequestLength = 256;

/** The last request of a person, so that a client that waits for it sees that it was applied. */
export function echoOfRequest({ metadata }: { readonly metadata: Pick<ObjectMeta, 'annotations'> }): {
  readonly lastHandledReconcileAt?: string;
} {
  const requestedAt = metadata.annotations[annotations.requestedAt];
  return requestedAt === undefined ? {} : { lastHandledReconcileAt: bounded(requestedAt, maxRequestLength) };
}
