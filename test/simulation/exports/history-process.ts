/** A process of a simulated export: a whole operator, or only the export itself. */
import type { Seat } from './planned-actions.ts';

export interface HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  readonly running: boolean;
  readonly reported: ReportedState | undefined;
  start(): void;
  /** Notifies the process that the spec has changed. If `isToTryAgain` is true, the user also requests a retry. */
  tell(isToTryAgain: boolean): void;
  kill(): void;
  /** Freezes or thaws the process, as SIGSTOP and SIGCONT do. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface ReportedState {
  readonly isComplete: boolean;
  readonly isStalled: boolean;
  /** Reason and message of each interval that the status shows as incomplete. */
  readonly unproven: readonly { readonly reason: string; readonly message: string }[];
  /** State of the export in words, for people. */
  readonly text: string;
}
