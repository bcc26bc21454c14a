/**
 * Assembles WebAssembly code from instructions and operands: the subset that logfleet needs, in the binary format of the
 * specification (WebAssembly 2.0, chapter 5). Types are not checked here; the engine checks them when it compiles the module.
 *
 * A piece of code is a function of its nesting depth, since a branch identifies its block by counting outwards.
 */

/** Bytes of instructions at a nesting depth. */
export type Code = (depth: number) => readonly number[];
/** Identifies a block for branches. */
export type Label = number;

const i32Type = 0x7f;
const noResult = 0x40;

export function sequence(...parts: readonly Code[]): Code {
  return (depth) => parts.flatMap((part) => part(depth));
}

/** Instruction after its operands. */
function instruction(bytes: readonly number[], ...operands: readonly Code[]): Code {
  return (depth) => [...operands.flatMap((operand) => operand(depth)), ...bytes];
}

type Unary = (operand: Code) => Code;
type Binary = (left: Code, right: Code) => Code;
/** Loads from an address with an optional offset in bytes. */
type Load = (address: Code, offset?: number) => Code;
type Store = (address: Code, offset: number, value: Code) => Code;

const unary =
  (...bytes: number[]): Unary =>
  (operand) =>
    instruction(bytes, operand);
const binary =
  (...bytes: number[]): Binary =>
  (left, right) =>
    instruction(bytes, left, right);
const load =
  (...bytes: number[]): Load =>
  (address, offset = 0) =>
    instruction([...bytes, 0, ...unsigned(offset)], address);

const store =
  (...bytes: number[]): Store =>
  (address, offset, value) =>
    instruction([...bytes, 0, ...unsigned(offset)], address, value);

export const i32 = {
  of: (value: number): Code => instruction([0x41, ...signed(BigInt(value))]),
  load: load(0x28),
  load8: load(0x2d),
  store: store(0x36),
  store8: store(0x3a),
  isZero: unary(0x45),
  eq: binary(0x46),
  ne: binary(0x47),
  /** All comparisons are unsigned. */
  lt: binary(0x49),
  gt: binary(0x4b),
  ge: binary(0x4f),
  trailingZeros: unary(0x68),
  add: binary(0x6a),
  sub: binary(0x6b),
  and: binary(0x71),
  or: binary(0x72),
};

export const i64 = {
  of: (value: bigint): Code => instruction([0x42, ...signed(BigInt.asIntN(64, value))]),
  load: load(0x29),
  eq: binary(0x51),
  ne: binary(0x52),
  or: binary(0x84),
};

/** Operations on sixteen bytes. */
export const v128 = {
  load: load(0xfd, 0x00),
  /** Vector with the same byte in each lane. */
  of: (byte: number): Code => instruction([0xfd, 0x0c, ...Array<number>(16).fill(byte)]),
  eq: binary(0xfd, 0x23),
  lt: binary(0xfd, 0x26),
  or: binary(0xfd, 0x50),
  /** Highest bit of each byte as a bit mask, lowest byte first. */
  bits: unary(0xfd, 0x64),
};

export const get = (local: number): Code => instruction([0x20, ...unsigned(local)]);
export const set = (local: number, value: Code): Code => instruction([0x21, ...unsigned(local)], value);
/** Adds a constant to a local. */
export const advance = (local: number, by: number): Code => set(local, i32.add(get(local), i32.of(by)));
export const call = (index: number, ...operands: readonly Code[]): Code =>
  instruction([0x10, ...unsigned(index)], ...operands);
/** Copies `length` bytes. */
export const copy = (to: Code, from: Code, length: Code): Code => instruction([0xfc, 0x0a, 0, 0], to, from, length);
export const giveBack = (value: Code): Code => instruction([0x0f], value);

/** Block. A branch to it continues after it. */
export function block(body: (label: Label) => Code): Code {
  return (depth) => [0x02, noResult, ...body(depth + 1)(depth + 1), 0x0b];
}

/** Loop. A branch to it continues at its beginning. */
export function loop(body: (label: Label) => Code): Code {
  return (depth) => [0x03, noResult, ...body(depth + 1)(depth + 1), 0x0b];
}

export function branch(label: Label): Code {
  return (depth) => [0x0c, ...unsigned(depth - label)];
}

export function branchIf(label: Label, condition: Code): Code {
  return (depth) => [...condition(depth), 0x0d, ...unsigned(depth - label)];
}

export function when(condition: Code, ...then: readonly Code[]): Code {
  return (depth) => [...condition(depth), 0x04, noResult, ...sequence(...then)(depth + 1), 0x0b];
}

/** Function whose parameters, locals and single result are i32, except for the last `vectors` locals. */
export interface WasmFunction {
  readonly parameters: number;
  readonly locals: number;
  readonly vectors: number;
  readonly body: Code;
  /** Export name. */
  readonly name?: string;
}

const vectorType = 0x7b;

/** Module with one memory, exported as `memory`. */
export function wasmModule(memoryPages: number, functions: readonly WasmFunction[]): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters }) => [0x60, ...vector(Array(parameters).fill([i32Type])), 1, i32Type]);
  const exported = functions.flatMap(({ name }, index) => (name === undefined ? [] : [[...text(name), 0, index]]));
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, types),
    ...section(
      3,
      functions.map((_, index) => [index]),
    ),
    ...section(5, [[0, ...unsigned(memoryPages)]]),
    ...section(7, [[...text('memory'), 2, 0], ...exported]),
    ...section(10, functions.map(bodyOf)),
  ]);
}

function bodyOf({ locals, vectors, body }: WasmFunction): readonly number[] {
  const groups = [
    [locals, i32Type],
    [vectors, vectorType],
  ].filter(([count = 0]) => count > 0);
  const bytes = [...vector(groups), ...body(0), 0x0b];
  return [...unsigned(bytes.length), ...bytes];
}

function section(id: number, items: readonly (readonly number[])[]): readonly number[] {
  const bytes = vector(items);
  return [id, ...unsigned(bytes.length), ...bytes];
}

function vector(items: readonly (readonly number[])[]): readonly number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(name: string): readonly number[] {
  return [...unsigned(name.length), ...Buffer.from(name, 'latin1')];
}

function unsigned(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: bigint): readonly number[] {
  const low = Number(BigInt.asUintN(7, value));
  const rest = value >> 7n;
  const isLast = rest === (low & 0x40 ? -1n : 0n);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
