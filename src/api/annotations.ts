/**
 * The annotations by which a person acts on a resource without touching its spec, so that a GitOps tool which owns the spec
 * does not undo it. In a directory, requests beside the manifests carry the same names and values.
 *
 * Invariant: what is about a rollout names it, so that a value which stays behind does nothing to the next one.
 */
export const annotations = {
  /** `"true"`: start nothing new. Any other value, or none: go on. */
  paused: 'logfleet.dev/paused',
  /** Anything new: reconcile now. Echoed in `status.lastHandledReconcileAt`. */
  requestedAt: 'logfleet.dev/requestedAt',
  /** `ROLLOUT/STAGE`, or `ROLLOUT/STAGE/ANYTHING-NEW`: begin this stage of this rollout. Read by `parseApproval`. */
  approve: 'logfleet.dev/approve',
  /** `ROLLOUT`, or `ROLLOUT/ANYTHING-NEW`: go on with what was stopped or has failed. Read by `parseRolloutRequest`. */
  retry: 'logfleet.dev/retry',
  /** `ROLLOUT`, or `ROLLOUT/ANYTHING-NEW`: start nothing more in this rollout. Read by `parseRolloutRequest`. */
  abort: 'logfleet.dev/abort',
} as const;

/** A stage that a person has approved. */
export interface Approval {
  readonly rolloutId: string;
  readonly stage: string;
}

/** What a person asked of a rollout. */
export interface RolloutRequest {
  readonly rolloutId: string;
  /** Tells one request from the next of the same rollout: the CLI writes the time. Empty where nothing follows the id. */
  readonly mark: string;
}

/** As a rollout counts itself: its number and its target, `3-19.500-1`. The limit is the one of `status.rollout.id`. */
const rolloutIdForm = /^[1-9]\d*-[^\s/]+$/;
const maxRolloutIdLength = 64;
/** A DNS label, as `spec.strategy.stages[].name` has to be. */
const stageForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** The engine remembers what it has acted on: longer marks are none. */
const maxMarkLength = 64;

/** What a value of `approve` says, blanks around it left out; undefined where it is none. */
export function parseApproval(value: string | undefined): Approval | undefined {
  const { id, rest } = split(value);
  const { id: stage, rest: mark = '' } = split(rest);
  const isOne = isRolloutId(id) && stageForm.test(stage) && mark.length <= maxMarkLength;
  return isOne ? { rolloutId: id, stage } : undefined;
}

/** What a value of `retry` or `abort` says, blanks around it left out; undefined where it is none. */
export function parseRolloutRequest(value: string | undefined): RolloutRequest | undefined {
  const { id, rest = '' } = split(value);
  return isRolloutId(id) && rest.length <= maxMarkLength ? { rolloutId: id, mark: rest } : undefined;
}

function split(value = ''): { readonly id: string; readonly rest: string | undefined } {
  const text = value.trim();
  const slash = text.indexOf('/');
  return slash === -1 ? { id: text, rest: undefined } : { id: text.slice(0, slash), rest: text.slice(slash + 1) };
}

function isRolloutId(text: string): boolean {
  return text.length <= maxRolloutIdLength && rolloutIdForm.test(text);
}
