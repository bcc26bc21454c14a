/** A destination as one process has it: what is done there can be cut short, is late, or goes wrong. */
import {
  type DestinationCall,
  type DestinationFault,
  MemoryDestination,
  type MemoryStore,
} from '../../support/memory-destination.ts';
import { isDead, never, type ProcessGate } from '../process-gate.ts';

/** What others learn of the calls of a process, in the turn in which they leave, and what they make of them. */
export interface DestinationObserver {
  /** Right before a call leaves. Whoever kills the process here keeps it from leaving. */
  before(effect: string): void;
  /** Right after it left: it happens whatever becomes of the process. */
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
      // Whoever is killed now has done this, and does not come to know what became of it.
      if (isDead(gate)) return undefined;
      const open = () => new Promise<void>((resolve) => gate.deliver(resolve));
      return { ...fault, until: (fault?.until ?? Promise.resolve()).then(open) };
    };
  }

  override get isDead(): boolean {
    return isDead(this.#gate);
  }
}
