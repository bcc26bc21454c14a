/**
 * Annotations with which a person acts on a resource. They are not in the spec, because a GitOps tool would undo a change of the
 * spec. In a directory of manifests, request files have the same names and values.
 *
 * Invariant: an annotation about a rollout names the rollout, so an old annotation has no effect on the next rollout.
 */
export const annotations = {
  /** Annotation that pauses a resource if its value is `"true"`, so that no new work starts. Any other value has no effect. */
  paused: 'logfleet.dev/paused',
  /**
   * Annotation that requests an immediate reconcile. Each new value is a new request, and is copied to
   * `status.lastHandledReconcileAt` when it is handled.
   */
  requestedAt: 'logfleet.dev/requestedAt',
  /** Annotation that approves a stage of a rollout, so that the stage may start. Value: `ROLLOUT/STAGE` or `ROLLOUT/STAGE/ANYTHING-NEW`. */
  approve: 'logfleet.dev/approve',
  /** Annotation that continues a stopped rollout and retries failed collectors. Value: `ROLLOUT` or `ROLLOUT/ANYTHING-NEW`. */
  retry: 'logfleet.dev/retry',
  /** Annotation that aborts a rollout, so that no further upgrade starts in it. Value: `ROLLOUT` or `ROLLOUT/ANYTHING-NEW`. */
  abort: 'logfleet.dev/abort',
} as const;

export interface Approval {
  readonly rolloutId: string;
  readonly stage: string;
}

export interface RolloutRequest {
  readonly rolloutId: string;
  /**
   * Text after the rollout id, such as the current time, which makes a repeated request about the same rollout differ from the
   * first. May be empty.
   */
  readonly suffix: string;
}

/**
 * Matches the id of a rollout: a number and the target version, as in `3-19.500-1`. The maximum length is the same as for
 * `status.rollout.id`.
 */
const rolloutIdForm = /^[1-9]\d*-[^\s/]+$/;
const maxRolloutIdLength = 64;
/** Form of a stage name, which is a DNS label. */
const stageForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/**
 * Maximum length of the text that makes a repeated request differ from the first. It is limited, because the text is stored in
 * status.
 */
const maxSuffixLength = 64;

/** Parses the value of the annotation `approve`, ignoring surrounding whitespace. Returns undefined if the value is invalid. */
export function parseApproval(value: string | undefined): Approval | undefined {
  const { id, rest } = split(value);
  const { id: stage, rest: suffix = '' } = split(rest);
  const isOne = isRolloutId(id) && stageForm.test(stage) && suffix.length <= maxSuffixLength;
  return isOne ? { rolloutId: id, stage } : undefined;
}

/**
 * Parses the value of the annotation `retry` or `abort`, ignoring surrounding whitespace. Returns undefined if the value is
 * invalid.
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
