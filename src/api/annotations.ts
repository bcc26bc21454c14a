/**
 * Annotations that users set to control a resource, for example to pause it. They are not fields of the spec, because a
 * GitOps tool would revert a user's change to the spec. The value of an annotation that acts on a rollout contains the
 * id of the rollout, so the annotation has no effect on later rollouts.
 */
export const annotations = {
  /** Pauses a resource if the value is `"true"`, so that no new work starts. */
  paused: 'logfleet.dev/paused',
  /**
   * Requests an immediate reconcile. Each new value is a new request. logfleet confirms a request by copying its value
   * to `status.lastHandledReconcileAt`.
   */
  requestedAt: 'logfleet.dev/requestedAt',
  /**
   * Approves a stage of a rollout. Value: `ROLLOUT/STAGE`. To repeat the request, append `/` and any text that was not
   * used before, such as `ROLLOUT/STAGE/2`.
   */
  approve: 'logfleet.dev/approve',
  /**
   * Continues a stopped rollout and retries failed collectors. Value: `ROLLOUT`. To repeat the request, append `/` and
   * any text that was not used before, such as `ROLLOUT/2`.
   */
  retry: 'logfleet.dev/retry',
  /**
   * Aborts a rollout, so that no further upgrades start. Value: `ROLLOUT`. To repeat the request, append `/` and any
   * text that was not used before, such as `ROLLOUT/2`.
   */
  abort: 'logfleet.dev/abort',
} as const;

export interface Approval {
  readonly rolloutId: string;
  readonly stage: string;
}

export interface RolloutRequest {
  readonly rolloutId: string;
  /**
   * Text after the rollout id in the annotation's value. May be empty. Users change this text to repeat a request,
   * because an unchanged annotation has no effect.
   */
  readonly suffix: string;
}

/** Id of a rollout: a number and the target version, for example `3-19.500-1`. */
const rolloutIdForm = /^[1-9]\d*-[^\s/]+$/;
const maxRolloutIdLength = 64;
/** Matches a stage name, which is a DNS label. */
const stageForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/**
 * Maximum length, in characters, of the text after the rollout id or stage. The length is limited because the status
 * stores this text.
 */
const maxSuffixLength = 64;

/** Parses the annotation `approve`. Returns undefined if the value is invalid. */
export function parseApproval(value: string | undefined): Approval | undefined {
  const { id, rest } = split(value);
  const { id: stage, rest: suffix = '' } = split(rest);
  const isOne = isRolloutId(id) && stageForm.test(stage) && suffix.length <= maxSuffixLength;
  return isOne ? { rolloutId: id, stage } : undefined;
}

/** Parses the annotation `retry` or `abort`. Returns undefined if the value is invalid. */
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
