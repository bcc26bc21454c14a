/**
 * Runs a regular expression over a text as JavaScript would, with one difference: the time is bounded by the length of the text times
 * that of the program, whatever the pattern.
 *
 * It backtracks, and remembers at which places of the text each fork was tried. What failed there once fails again, since nothing that
 * is looked at depends on what was captured before.
 */
import { unreachable } from '../../../base/assert.ts';
import type { CharacterTest } from './character-test.ts';
import type { Edge, Pattern } from './pattern.ts';

type Instruction =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'edge'; readonly edge: Edge }
  /** Notes the place as one end of a capture. */
  | { readonly kind: 'save'; readonly slot: number }
  /** Forgets the slots [from, to). */
  | { readonly kind: 'forget'; readonly from: number; readonly to: number }
  /** Tries `first`, and `second` if that fails. `number` counts forks. */
  | { readonly kind: 'fork'; readonly number: number; first: number; second: number }
  | { readonly kind: 'jump'; to: number }
  | { readonly kind: 'end' };

const mostInstructions = 1_000;
const nowhere = -1;

export class Program {
  readonly #instructions: readonly Instruction[];
  readonly #forks: number;
  readonly #slots: number;
  /** Characters that each match begins with. */
  readonly #prefix: string;
  readonly #anchored: boolean;
  #tried = new Uint32Array(64);

  private constructor(instructions: readonly Instruction[], captures: number) {
    this.#instructions = instructions;
    this.#forks = instructions.filter(({ kind }) => kind === 'fork').length;
    this.#slots = 2 * captures;
    this.#prefix = prefixOf(instructions);
    const [first] = instructions;
    this.#anchored = first?.kind === 'edge' && first.edge === 'start';
  }

  /** Undefined where the pattern is too long, with all its repetitions. */
  static compile(pattern: Pattern, captures: number): Program | undefined {
    const instructions = new Compiler().compile(pattern);
    return instructions && new Program(instructions, captures);
  }

  /** What the first match captures, by index: undefined for captures that took no part. Undefined where nothing matches. */
  match(text: string): readonly (string | undefined)[] | undefined {
    const words = ((this.#forks * (text.length + 1)) >>> 5) + 1;
    if (this.#tried.length < words) this.#tried = new Uint32Array(words);
    else this.#tried.fill(0, 0, words);
    const slots = new Array<number>(this.#slots).fill(nowhere);
    const rest: number[] = [];
    for (let start = this.#nextStart(text, 0); start !== nowhere; start = this.#nextStart(text, start + 1)) {
      if (this.#matchesAt(text, start, slots, rest)) return captured(text, slots);
    }
    return undefined;
  }

  #nextStart(text: string, from: number): number {
    if (this.#anchored) return from === 0 ? 0 : nowhere;
    if (this.#prefix !== '') return text.indexOf(this.#prefix, from);
    const start = isLowSurrogateOfPair(text, from) ? from + 1 : from;
    return start <= text.length ? start : nowhere;
  }

  /** `rest` is what is left to try, nothing at first: pairs of an instruction and a place, or of a slot, as -1 - slot, and what it held. */
  #matchesAt(text: string, start: number, slots: number[], rest: number[]): boolean {
    rest.push(0, start);
    while (rest.length > 0) {
      let at = rest.pop() as number;
      let next = rest.pop() as number;
      if (next < 0) {
        slots[-1 - next] = at;
        continue;
      }
      for (let alive = true; alive; ) {
        const instruction = this.#instructions[next] as Instruction;
        next++;
        switch (instruction.kind) {
          case 'character': {
            const codePoint = at < text.length ? (text.codePointAt(at) as number) : undefined;
            if (codePoint === undefined || !instruction.test.fits(codePoint)) alive = false;
            else at += codePoint > 0xffff ? 2 : 1;
            break;
          }
          case 'edge':
            alive = isEdge(text, at, instruction.edge);
            break;
          case 'save':
            save(slots, rest, instruction.slot, at);
            break;
          case 'forget':
            for (let slot = instruction.from; slot < instruction.to; slot++) save(slots, rest, slot, nowhere);
            break;
          case 'fork':
            if (this.#wasTried(instruction.number * (text.length + 1) + at)) alive = false;
            else rest.push(instruction.second, at);
            next = instruction.first;
            break;
          case 'jump':
            next = instruction.to;
            break;
          case 'end':
            return true;
          default:
            unreachable(instruction);
        }
      }
    }
    return false;
  }

  /** Whether it was asked before; it counts as tried from now on. */
  #wasTried(bit: number): boolean {
    const word = bit >>> 5;
    const mask = 1 << (bit & 31);
    const held = this.#tried[word] as number;
    this.#tried[word] = held | mask;
    return (held & mask) !== 0;
  }
}

/** Sets a slot so that backtracking gives it back what it held. */
function save(slots: number[], rest: number[], slot: number, value: number): void {
  rest.push(-1 - slot, slots[slot] as number);
  slots[slot] = value;
}

function captured(text: string, slots: readonly number[]): (string | undefined)[] {
  const values: (string | undefined)[] = [];
  for (let slot = 0; slot < slots.length; slot += 2) {
    const end = slots[slot + 1] as number;
    values.push(end === nowhere ? undefined : text.slice(slots[slot], end));
  }
  return values;
}

/** Empty where a match may begin otherwise. */
function prefixOf(instructions: readonly Instruction[]): string {
  let prefix = '';
  for (const instruction of instructions) {
    if (instruction.kind === 'save') continue;
    if (instruction.kind !== 'character' || instruction.test.literal === undefined) return prefix;
    prefix += instruction.test.literal;
  }
  return prefix;
}

function isEdge(text: string, at: number, edge: Edge): boolean {
  switch (edge) {
    case 'start':
      return at === 0;
    case 'end':
      return at === text.length;
    case 'word':
      return isWord(text, at - 1) !== isWord(text, at);
    case 'notWord':
      return isWord(text, at - 1) === isWord(text, at);
    default:
      return unreachable(edge);
  }
}

function isWord(text: string, at: number): boolean {
  return /\w/.test(text[at] ?? '');
}

function isLowSurrogateOfPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) as number) > 0xffff;
}

class Compiler {
  readonly #instructions: Instruction[] = [];
  #forks = 0;

  compile(pattern: Pattern): readonly Instruction[] | undefined {
    this.#add(pattern);
    this.#instructions.push({ kind: 'end' });
    return this.#isTooLong ? undefined : this.#instructions;
  }

  get #isTooLong(): boolean {
    return this.#instructions.length > mostInstructions;
  }

  #add(pattern: Pattern): void {
    if (this.#isTooLong) return;
    switch (pattern.kind) {
      case 'character':
      case 'edge':
        this.#instructions.push(pattern);
        return;
      case 'sequence':
        for (const part of pattern.parts) this.#add(part);
        return;
      case 'choice':
        this.#addChoice(pattern.options);
        return;
      case 'capture':
        this.#instructions.push({ kind: 'save', slot: 2 * pattern.index });
        this.#add(pattern.body);
        this.#instructions.push({ kind: 'save', slot: 2 * pattern.index + 1 });
        return;
      case 'repeat':
        this.#addRepeat(pattern);
        return;
      default:
        unreachable(pattern);
    }
  }

  #addChoice(options: readonly Pattern[]): void {
    const jumps: { to: number }[] = [];
    for (const [index, option] of options.entries()) {
      const fork = index < options.length - 1 ? this.#fork() : undefined;
      this.#add(option);
      if (fork) {
        jumps.push(this.#jump());
        fork.second = this.#here;
      }
    }
    for (const jump of jumps) jump.to = this.#here;
  }

  #addRepeat(pattern: Pattern & { readonly kind: 'repeat' }): void {
    const { least, most, lazy } = pattern;
    for (let time = 0; time < least && !this.#isTooLong; time++) this.#addOnce(pattern);
    if (most === Number.POSITIVE_INFINITY) {
      const loop = this.#here;
      const fork = this.#fork();
      this.#addOnce(pattern);
      this.#jump().to = loop;
      this.#leaveAt(fork, lazy);
      return;
    }
    const forks: Fork[] = [];
    for (let time = least; time < most && !this.#isTooLong; time++) {
      forks.push(this.#fork());
      this.#addOnce(pattern);
    }
    for (const fork of forks) this.#leaveAt(fork, lazy);
  }

  #addOnce({ body, captures: [from, to] }: Pattern & { readonly kind: 'repeat' }): void {
    if (to > from) this.#instructions.push({ kind: 'forget', from: 2 * from, to: 2 * to });
    this.#add(body);
  }

  get #here(): number {
    return this.#instructions.length;
  }

  /** Tries what follows first. */
  #fork(): Fork {
    const fork: Fork = { kind: 'fork', number: this.#forks++, first: this.#here + 1, second: nowhere };
    this.#instructions.push(fork);
    return fork;
  }

  #jump(): { to: number } {
    const jump = { kind: 'jump' as const, to: nowhere };
    this.#instructions.push(jump);
    return jump;
  }

  /** The way past a repetition leads to here; a lazy one tries it first. */
  #leaveAt(fork: Fork, lazy: boolean): void {
    fork.second = this.#here;
    if (lazy) [fork.first, fork.second] = [fork.second, fork.first];
  }
}

type Fork = Instruction & { readonly kind: 'fork' };
