/**
 * A simulated process's connection to the destination. A test can make calls fail, delay them, or cut the connection.
 */
import {
  type DestinationCall,
  type DestinationFault,
  MemoryDestination,
  type MemoryStore,
} from '../../support/memory-destination.ts';
import { isDead, never, type ProcessGate } from '../../support/process-gate.ts';

export interface DestinationObserver {
  /** Called before a destination call is sent. Killing the process at this point prevents the call. */
  before(effect: string): void;
  /** Called after a destination call has been sent. The call takes effect even if the process is killed now. */
  after(effect: string): void;
  strike(call: DestinationCall, name: string): DestinationFault | undefined;
}

export class GatedDestination extends MemoryDestination {
  readonly #gate: ProcessGate;

  constructor(store: MemoryStore, gate: ProcessGate, observer: DestinationObserver) {
    super(store);
    this.#gate = gate;
    this.strike = (call, name) => {
      if (!isDead(gate)) observer.before(`${call} ${name}`);
      if (isDead(gate)) return { until: never() };
      const fault = observer.strike(call, name);
      observer.after(`${call} ${name}`);
      if (isDead(gate)) return undefined;
      const open = () => new Promise<void>((resolve) => gate.deliver(resolve));
      return { ...fault, until: (fault?.until ?? Promise.resolve()).then(open) };
    };
  }

  override get isDead(): boolean {
    return isDead(this.#gate);
  }
}
