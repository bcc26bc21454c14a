/**
 * Switch that pauses the whole operator, for `pause --all` and `resume --all`. It is a ConfigMap in a cluster (`cluster-switch.ts`), or a
 * request in a directory of manifests, beside which the manifests can pause, too.
 */
export interface OperatorSwitch {
  /** The paused resources, as a clause after "everything": `in ./policies`. */
  readonly whose: string;
  /** Flags with which another command finds the same switch, each after a blank. */
  readonly flags: string;
  /** Cause of the pause, as a clause after "paused by". Undefined if nothing pauses. */
  pausedBy(): Promise<string | undefined>;
  set(paused: boolean): Promise<void>;
  /** Sentence that no process works on the directory, with the command that starts one. Undefined otherwise. Absent for a cluster. */
  idleNote?(): Promise<string | undefined>;
  close(): Promise<void>;
}
