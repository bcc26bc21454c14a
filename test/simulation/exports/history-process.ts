/** What a history knows of one that works on its export: a process with the work alone, or a whole operator. */
import type { Seat } from './planned-actions.ts';

export interface HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  /** Neither stopped nor dead. */
  readonly running: boolean;
  /** What it says of the export; undefined before it says anything. */
  readonly told: ToldState | undefined;
  start(): void;
  /** The text of the export has changed; or a person asks that all be looked at again. */
  tell(isToTryAgain: boolean): void;
  /** As by SIGKILL. */
  kill(): void;
  /** As by SIGSTOP, and SIGCONT. */
  freeze(): void;
  thaw(): void;
  /** As by SIGTERM: ends in order, then is gone. */
  stop(): Promise<void>;
}

export interface ToldState {
  readonly isComplete: boolean;
  /** A person has to do something. */
  readonly isStalled: boolean;
  /** Why intervals cannot be proven: the reason, and what people read. */
  readonly unproven: readonly { readonly reason: string; readonly message: string }[];
  /** Where it stands, in words. */
  readonly text: string;
}
