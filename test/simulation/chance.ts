/** Choices of a history, all drawn from one generator, so that a seed is the whole of it. */
import { type Random, seededRandom } from '../../src/base/random.ts';

export class Chance {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    // The first draws of neighbouring seeds are alike.
    for (let draw = 0; draw < 8; draw++) this.#random.next();
  }

  happens(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.#random.next() * (most - least + 1));
  }

  between(least: number, most: number): number {
    return least + this.#random.next() * (most - least);
  }

  one<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)] as T;
  }

  /** Each of them by chance, in their order. */
  some<T>(choices: readonly T[], probability: number): T[] {
    return choices.filter(() => this.happens(probability));
  }
}
