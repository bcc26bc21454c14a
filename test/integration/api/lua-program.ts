/** Runs Lua programs in the same way as Argo CD runs its health checks. */
import { createRequire } from 'node:module';

type State = object;

/** Types for the functions that the tests use from fengari, a library without types. */
interface Fengari {
  readonly lua: {
    lua_pushnil(state: State): void;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushnumber(state: State, value: number): void;
    lua_pushstring(state: State, value: Uint8Array): void;
    lua_createtable(state: State, items: number, members: number): void;
    lua_rawset(state: State, index: number): void;
    lua_rawget(state: State, index: number): void;
    lua_setglobal(state: State, name: Uint8Array): void;
    lua_istable(state: State, index: number): boolean;
    lua_tojsstring(state: State, index: number): string;
    lua_settop(state: State, index: number): void;
  };
  readonly lauxlib: {
    luaL_newstate(): State;
    luaL_dostring(state: State, program: Uint8Array): boolean;
  };
  readonly lualib: { luaL_openlibs(state: State): void };
  to_luastring(text: string): Uint8Array;
}

const { lua, lauxlib, lualib, to_luastring } = createRequire(import.meta.url)('fengari') as Fengari;

/** Runs a Lua program with these global variables. Returns the fields of the returned table, as strings. */
export function runLua(
  program: string,
  globals: Readonly<Record<string, unknown>>,
  members: readonly string[],
): Readonly<Record<string, string>> {
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  for (const [name, value] of Object.entries(globals)) {
    push(state, value);
    lua.lua_setglobal(state, to_luastring(name));
  }
  if (lauxlib.luaL_dostring(state, to_luastring(program))) throw new Error(lua.lua_tojsstring(state, -1));
  if (!lua.lua_istable(state, -1)) throw new Error('the program returns no table');
  return Object.fromEntries(members.map((name) => [name, memberOf(state, name)]));
}

function memberOf(state: State, name: string): string {
  lua.lua_pushstring(state, to_luastring(name));
  lua.lua_rawget(state, -2);
  const text = lua.lua_tojsstring(state, -1);
  lua.lua_settop(state, -2);
  return text;
}

function push(state: State, value: unknown): void {
  if (typeof value === 'string') lua.lua_pushstring(state, to_luastring(value));
  else if (typeof value === 'number') lua.lua_pushnumber(state, value);
  else if (typeof value === 'boolean') lua.lua_pushboolean(state, value);
  else if (Array.isArray(value))
    pushTable(
      state,
      [...value.entries()].map(([index, item]) => [index + 1, item]),
    );
  else if (typeof value === 'object' && value !== null) pushTable(state, Object.entries(value));
  else lua.lua_pushnil(state);
}

function pushTable(state: State, members: readonly (readonly [string | number, unknown])[]): void {
  lua.lua_createtable(state, 0, members.length);
  for (const [key, value] of members) {
    push(state, key);
    push(state, value);
    lua.lua_rawset(state, -3);
  }
}
