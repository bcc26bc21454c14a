/** A process of a history: either the work alone or a whole operator. */
import type { Seat } from './planned-actions.ts';

export interface HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  /** True if the process is neither stopped nor dead. */
  readonly running: boolean;
  /** State that the process reports; undefined before the first report. */
  readonly told: ToldState | undefined;
  start(): void;
  /** The spec has changed, or a user requests a retry. */
  tell(isToTryAgain: boolean): void;
  /** Kills the process, like SIGKILL. */
  kill(): void;
  /** Stops and continues the process, like SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
  /** Ends the process in order, like SIGTERM. */
  stop(): Promise<void>;
}

export interface ToldState {
  readonly isComplete: boolean;
  /** True if a user must act. */
  readonly isStalled: boolean;
  /** Unproven intervals: reason and message. */
  readonly unproven: readonly { readonly reason: string; readonly message: string }[];
  /** State in words. */
  readonly text: string;
}
