/** Functions for the status fields that resources of all kinds have. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import { bounded } from '../base/short-text.ts';

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

/** Returns the value of a reconcile request that the status does not confirm yet, or undefined if there is none. */
export function unconfirmedRequest(resource: {
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
  readonly status?: { readonly lastHandledReconcileAt?: string } | undefined;
}): string | undefined {
  const { lastHandledReconcileAt: asked } = echoOfRequest(resource);
  return asked === resource.status?.lastHandledReconcileAt ? undefined : asked;
}
