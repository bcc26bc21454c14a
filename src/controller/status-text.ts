/** Functions for status fields that all resource kinds have in common, such as times. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';

/** Formats a wall-clock time in whole seconds, such as `2026-11-21T22:00:00Z`. */
export function isoTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Maximum length in characters of an annotation value in a status. */
const maxRequestLength = 256;

/**
 * Returns the value of the annotation that requests a reconcile. The status repeats the value to confirm the request.
 */
export function echoOfRequest({ metadata }: { readonly metadata: Pick<ObjectMeta, 'annotations'> }): {
  readonly lastHandledReconcileAt?: string;
} {
  const requestedAt = metadata.annotations[annotations.requestedAt];
  return requestedAt === undefined ? {} : { lastHandledReconcileAt: bounded(requestedAt, maxRequestLength) };
}
