/** Input to the `simulate` command: flags and environment. */
import { LogfleetError } from '../src/base/errors.ts';
import type { ListenAddress } from '../src/base/flag-values.ts';

/** Values of the command-line flags. A member is absent if the user did not set the flag. */
export interface SimulateOptions {
  readonly listen: ListenAddress;
  readonly tlsDir?: string;
  readonly accessId?: string;
  readonly accessKey?: string;
  readonly scenario?: string;
  readonly collectors?: number;
  readonly seed?: number;
  /** Names of NDJSON files, at least one. */
  readonly logData?: readonly string[];
  readonly messages?: number;
  /** Time range of the generated messages, in the notation used in scenarios. */
  readonly from?: string;
  readonly to?: string;
  readonly journal?: string;
  readonly timeScale: number;
}

/**
 * Process-wide objects that the simulator uses: output, environment, working directory and abort signal. Tests pass
 * their own.
 */
export interface SimulatorContext {
  readonly stdout: { write(text: string): void };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the directory against which relative file names are resolved. */
  readonly cwd: string;
  /** Signal that, when aborted, ends the simulator. */
  readonly signal: AbortSignal;
}

/** Error for an invalid flag, or for a file that cannot be used. */
export class FlagError extends LogfleetError {
  override readonly name = 'FlagError';

  constructor(message: string) {
    super({ code: 'simulator.flag', message, handling: { kind: 'stall' }, reason: 'WrongUsage' });
  }
}
