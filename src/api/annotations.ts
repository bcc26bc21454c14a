/**
 * The annotations by which a person acts on a resource without touching its spec, so that a GitOps tool which owns the spec
 * does not undo it. In a directory, requests beside the manifests carry the same names and values.
 */
export const annotations = {
  /** `"true"`: start nothing new. Any other value, or none: go on. */
  paused: 'logfleet.dev/paused',
  /** Anything new: reconcile now. Echoed in `status.lastHandledReconcileAt`. */
  requestedAt: 'logfleet.dev/requestedAt',
} as const;
