/** Makes the random choices for a simulated run. They depend only on its seed. */
import { type Random, seededRandom } from '../../src/base/random.ts';

export class Chance {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    // Discards the first random numbers, because they are similar for similar seeds, and would lead to similar
    // simulations.
    for (let draw = 0; draw < 8; draw++) this.#random.next();
  }

  happens(probability: number): boolean {
    return this.#random.next() < probability;
  }

  whole(min: number, max: number): number {
    return min + Math.floor(this.#random.next() * (max - min + 1));
  }

  between(min: number, max: number): number {
    return min + this.#random.next() * (max - min);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)] as T;
  }

  /** Returns a random selection of the choices. Each choice is selected independently, with this probability. */
  some<T>(choices: readonly T[], probability: number): T[] {
    return choices.filter(() => this.happens(probability));
  }
}
