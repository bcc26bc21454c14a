/** How status is written whatever the kind: times, texts of a bounded length, and what a person asked for last. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';

/** Whole seconds, as Kubernetes has it. */
export function isoTime(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

/** The text, cut where it is longer; never in the middle of a character. */
export function bounded(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}

/** Of an annotation only so much is echoed. */
const maxRequestLength = 256;

/** What a person asked for last, so that whoever waits for it sees that it was heard. */
export function echoOfRequest({ metadata }: { readonly metadata: Pick<ObjectMeta, 'annotations'> }): {
  readonly lastHandledReconcileAt?: string;
} {
  const requestedAt = metadata.annotations[annotations.requestedAt];
  return requestedAt === undefined ? {} : { lastHandledReconcileAt: bounded(requestedAt, maxRequestLength) };
}
