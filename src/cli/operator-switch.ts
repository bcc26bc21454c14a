/**
 * The switch that stops the operator as a whole, as `pause --all` and `resume --all` turn it. Two adapters stand behind this page,
 * `cluster-switch.ts` and `directory-switch.ts`; the flags say which.
 */
import type { CommandContext } from './context.ts';
import type { PauseOptions } from './options.ts';

export interface OperatorSwitch {
  /** Whose policies and exports it stops, to go on from "everything". */
  readonly whose: string;
  /** The flags that lead another command to the same switch, each with a blank in front. */
  readonly flags: string;
  /** Who or what pauses them, to go on from "paused by"; undefined while nothing does. */
  pausedBy(): Promise<string | undefined>;
  set(paused: boolean): Promise<void>;
  /** That no process works there, and what to type; undefined where one may. Absent where it cannot be told. */
  idleNote?(): Promise<string | undefined>;
  close(): Promise<void>;
}

export type OpenSwitch = (options: PauseOptions, context: CommandContext) => Promise<OperatorSwitch>;

/** The directory of `--dir`, else the operator of the cluster that the kubeconfig names. */
export const openSwitch: OpenSwitch = async (options, context) => {
  if (options.dir !== undefined) {
    const { openDirectorySwitch } = await import('./directory-switch.ts');
    return openDirectorySwitch(options.dir, context);
  }
  const { openClusterSwitch } = await import('./cluster-switch.ts');
  return openClusterSwitch(options, context);
};
