/**
 * Code for WebAssembly, put together from instructions with their operands, as the few that a program needs: the binary form of the
 * specification (WebAssembly 2.0, chapter 5). It does not check types: the engine does that when the module is compiled.
 *
 * A piece of code is a function of how many blocks it stands in, since a branch names its block by counting outwards.
 */

/** The bytes of instructions that stand inside of so many blocks. */
export type Code = (depth: number) => readonly number[];
/** A block, for branches to it. */
export type Label = number;

const i32Type = 0x7f;
const noResult = 0x40;

export function sequence(...parts: readonly Code[]): Code {
  return (depth) => parts.flatMap((part) => part(depth));
}

/** An instruction behind its operands. */
function instruction(bytes: readonly number[], ...operands: readonly Code[]): Code {
  return (depth) => [...operands.flatMap((operand) => operand(depth)), ...bytes];
}

type Unary = (operand: Code) => Code;
type Binary = (left: Code, right: Code) => Code;
/** At an address, and so many bytes behind it. */
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
  /** All of these without a sign. */
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

/** Sixteen bytes at once. */
export const v128 = {
  load: load(0xfd, 0x00),
  /** The same byte in each place. */
  of: (byte: number): Code => instruction([0xfd, 0x0c, ...Array<number>(16).fill(byte)]),
  eq: binary(0xfd, 0x23),
  lt: binary(0xfd, 0x26),
  or: binary(0xfd, 0x50),
  /** One bit for each byte, the lowest for the first: whether its highest bit is set. */
  bits: unary(0xfd, 0x64),
};

export const get = (local: number): Code => instruction([0x20, ...unsigned(local)]);
export const set = (local: number, value: Code): Code => instruction([0x21, ...unsigned(local)], value);
/** Adds to a local. */
export const advance = (local: number, by: number): Code => set(local, i32.add(get(local), i32.of(by)));
export const call = (index: number, ...operands: readonly Code[]): Code =>
  instruction([0x10, ...unsigned(index)], ...operands);
/** Copies so many bytes. */
export const copy = (to: Code, from: Code, length: Code): Code => instruction([0xfc, 0x0a, 0, 0], to, from, length);
export const giveBack = (value: Code): Code => instruction([0x0f], value);

/** A branch to it leads behind it. */
export function block(body: (label: Label) => Code): Code {
  return (depth) => [0x02, noResult, ...body(depth + 1)(depth + 1), 0x0b];
}

/** A branch to it leads to its beginning. */
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

/** All parameters, locals and results are i32, but for `vectors` locals, which come last; there is one result. */
export interface WasmFunction {
  readonly parameters: number;
  readonly locals: number;
  readonly vectors: number;
  readonly body: Code;
  /** The name under which it is exported. */
  readonly name?: string;
}

const vectorType = 0x7b;

/** A module with one memory, exported as `memory`. */
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
