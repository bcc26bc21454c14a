/**
 * Annotations with which a person acts on a resource. They do not change the spec, so a GitOps tool that owns the spec does not
 * undo them. In a directory, requests beside the manifests use the same names and values.
 *
 * Invariant: an annotation about a rollout names the rollout, so a value that is left over has no effect on the next rollout.
 */
export const annotations = {
  /**
   * Annotation that pauses a resource with the value `"true"`, so that no new work starts. With any other value, or
   * without the annotation, the resource continues.
   */
  paused: 'logfleet.dev/paused',
  /**
   * Annotation that requests an immediate reconcile by any new value. The value is copied to
   * `status.lastHandledReconcileAt`.
   */
  requestedAt: 'logfleet.dev/requestedAt',
  /**
   * Annotation that approves a stage of a rollout, so that the stage may start. Its value is `ROLLOUT/STAGE` or
   * `ROLLOUT/STAGE/ANYTHING-NEW`. Read by `parseApproval`.
   */
  approve: 'logfleet.dev/approve',
  /**
   * Annotation that continues a stopped rollout and retries failed collectors. Its value is `ROLLOUT` or
   * `ROLLOUT/ANYTHING-NEW`. Read by `parseRolloutRequest`.
   */
  retry: 'logfleet.dev/retry',
  /**
   * Annotation that aborts a rollout, so that no further upgrade starts in it. Its value is `ROLLOUT` or
   * `ROLLOUT/ANYTHING-NEW`. Read by `parseRolloutRequest`.
   */
  abort: 'logfleet.dev/abort',
} as const;

/** Approval of a rollout's stage by a person, as read from an annotation. */
export interface Approval {
  readonly rolloutId: string;
  readonly stage: string;
}

/** Request of a person to retry or abort a rollout. */
export interface RolloutRequest {
  readonly rolloutId: string;
  /**
   * Text after the rollout id that distinguishes repeated requests for the same rollout. The CLI writes the time. Empty
   * if the value ends with the id.
   */
  readonly suffix: string;
}

/** Form of a rollout id: its number and its target, as in `3-19.500-1`. The length limit equals that of `status.rollout.id`. */
const rolloutIdForm = /^[1-9]\d*-[^\s/]+$/;
const maxRolloutIdLength = 64;
/** Form of a stage name: a DNS label, as `spec.strategy.stages[].name` requires. */
const stageForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/**
 * Maximum length of the text that distinguishes repeated requests. Longer values are rejected, because processed values
 * are stored in status.
 */
const maxSuffixLength = 64;

/**
 * Parses the value of the annotation `approve`, ignoring surrounding whitespace. Returns undefined if the value is
 * invalid.
 */
export function parseApproval(value: string | undefined): Approval | undefined {
  const { id, rest } = split(value);
  const { id: stage, rest: suffix = '' } = split(rest);
  const isOne = isRolloutId(id) && stageForm.test(stage) && suffix.length <= maxSuffixLength;
  return isOne ? { rolloutId: id, stage } : undefined;
}

/**
 * Parses the value of the annotation `retry` or `abort`, ignoring surrounding whitespace. Returns undefined if the
 * value is invalid.
 */
export function parseRolloutRequest(value: string | undefined): RolloutRequest | undefined {
  const { id, rest = '' } = split(value);
  return isRolloutId(id) && rest.length <= maxSuffixLength ? { rolloutId: id, suffix: rest } : undefined;
}

function split(value = ''): { readonly id: string; readonly rest: string | undefined } {
  const text = value.trim();
  const slash = text.indexOf('/');
  return slash === -1 ? { id: text, rest: undefined } : { id: text.slice(0, slash), rest: text.slice(slash + 1) };
}

function isRolloutId(text: string): boolean {
  return text.length <= maxRolloutIdLength && rolloutIdForm.test(text);
}
