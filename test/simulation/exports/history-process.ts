/** A process in a simulated export: either a whole operator, or only the export itself. */
import type { Seat } from './planned-actions.ts';

export interface HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  readonly running: boolean;
  readonly reported: ReportedState | undefined;
  start(): void;
  /** Notifies the process that the spec has changed. If `isToTryAgain` is true, the user has also requested a retry. */
  tell(isToTryAgain: boolean): void;
  kill(): void;
  /** Freezes or resumes the process, as SIGSTOP and SIGCONT do. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

export interface ReportedState {
  readonly isComplete: boolean;
  readonly isStalled: boolean;
  /** Reason and message for each interval that the status shows as incomplete. */
  readonly unproven: readonly { readonly reason: string; readonly message: string }[];
  /** Human-readable state of the export. */
  readonly text: string;
}
