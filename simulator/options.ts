/** Input of the command `simulate`: flags and environment. */
import { LogfleetError } from '../src/base/errors.ts';
import type { ListenAddress } from '../src/base/flag-values.ts';

/** Values of the command's flags. The member of a flag is absent if the user did not give the flag. */
export interface SimulateOptions {
  readonly listen: ListenAddress;
  readonly tlsDir?: string;
  readonly accessId?: string;
  readonly accessKey?: string;
  readonly scenario?: string;
  readonly collectors?: number;
  readonly seed?: number;
  /** Names of at least one NDJSON file. */
  readonly logData?: readonly string[];
  readonly messages?: number;
  /** Time range of the generated messages, written as in a scenario. */
  readonly from?: string;
  readonly to?: string;
  readonly journal?: string;
  readonly timeScale: number;
}

/**
 * Objects of the process that the simulator uses: output, environment, working directory and abort signal. Tests pass
 * their own objects.
 */
export interface SimulatorContext {
  readonly stdout: { write(text: string): void };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the directory to which relative file names refer. */
  readonly cwd: string;
  /** Ends the simulator when it is aborted. */
  readonly signal: AbortSignal;
}

/** Error for an unusable flag or file. */
export class FlagError extends LogfleetError {
  override readonly name = 'FlagError';

  constructor(message: string) {
    super({ code: 'simulator.flag', message, handling: { kind: 'stall' }, reason: 'WrongUsage' });
  }
}
